"""A real browser without a window, spoken to through a pipe in the DevTools protocol.

Nothing beyond the browser is needed: messages are JSON, each ended by a zero byte, on two file
descriptors that the browser is started with.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE = 60.0


def find_browser() -> str | None:
    """Path of Chromium, or None where there is none that we can start."""
    if shutil.which("bash") is None:
        return None
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for found in map(shutil.which, names) if found), None)


class Browser:
    """Chromium with one page, and everything that happened on it.

    Attributes
    ----------
    events : list of dict
        All messages of the page so far, oldest first.
    """

    def __init__(
        self, executable: str, profile: Path, width: int = 1280, height: int = 900
    ) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            executable,
            "--headless=new",
            "--no-sandbox",  # tests may run as root in a container
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        # The browser reads from descriptor 3 and writes to 4; a shell can hand it these.
        wiring = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", wiring, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.events: list[dict[str, Any]] = []
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self._attach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path: Path) -> None:
        """Show a file, and wait until it is there."""
        self.events.clear()
        answer = self.call("Page.navigate", url=path.resolve().as_uri())
        if "errorText" in answer:
            raise RuntimeError(f"{path}: {answer['errorText']}")
        self._until(lambda: any(e["method"] == "Page.loadEventFired" for e in self.events))

    def run(self, expression: str) -> Any:
        """Value of an expression of JavaScript on the page."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def resize(self, width: int, height: int) -> None:
        """Lay the page out for a screen of this size, in pixels of the style sheet."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """The colours that the reader's system asks for: "light" or "dark"."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self) -> bytes:
        """The whole page as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def requests(self) -> list[str]:
        """Addresses that the page asked for, its own included."""
        sent = (e for e in self.events if e["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[str]:
        """Errors and warnings in the console, exceptions, and breaches of the page's policy."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded":
                found.append(str(params["entry"]))
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
        return found

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _until(self, is_true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_true():
            self._receive(deadline)

    def _receive(self, deadline: float) -> dict[str, Any]:
        """The next message; those that answer nothing are kept as events."""
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("The browser did not answer.")
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise RuntimeError("The browser has ended.")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        if "method" in answer:
            self.events.append(answer)
        return answer

"""The version of randsub, and those of the libraries it runs with."""

__version__ = "0.1.0"


def version_of(name: str) -> str | None:
    """Version of "python", "randsub" or an installed distribution; None if it is not installed."""
    # Imported here: whoever asks for ``randsub.__version__`` need not wait for these.
    import platform
    from importlib.metadata import PackageNotFoundError, version

    if name in ("python", "randsub"):
        return platform.python_version() if name == "python" else __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def versions_of(*names: str) -> dict[str, str]:
    """Versions of randsub, Python and those of the named distributions that are installed."""
    found = {name: version_of(name) for name in ("randsub", "python", *names)}
    return {name: version for name, version in found.items() if version is not None}

"use strict";
// The page reads well without this script; it adds what a reader may ask for: another theme, another
// order of the table, the value under the pointer. Text goes in as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  const element = (name, options = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(options)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  // -- theme ---------------------------------------------------------------------------------------

  const themes = ["auto", "light", "dark"];
  const remembered = {
    get() { try { return localStorage.getItem("randsub-theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("randsub-theme", theme); } catch { /* not allowed here */ } },
  };
  const themeButton = document.getElementById("theme");
  const show = (theme) => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
    themeButton.textContent = `Theme: ${theme}`;
    themeButton.dataset.current = theme;
  };
  show(themes.includes(remembered.get()) ? remembered.get() : "auto");
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    const next = themes[(themes.indexOf(themeButton.dataset.current) + 1) % themes.length];
    show(next);
    remembered.set(next);
  });

  // -- the table of features -----------------------------------------------------------------------

  const table = document.getElementById("features");
  if (table) {
    const { columns, values } = data.table;
    const nRows = values[0].length;
    const nameColumn = columns.findIndex((column) => column.kind === "name");
    // Once, so that every key pressed in the search box is cheap with many thousands of features.
    const lowered = values[nameColumn].map((name) => name.toLowerCase());
    const collator = new Intl.Collator(undefined, { numeric: true });
    const state = { sorted: 0, descending: false, wanted: "", page: 0, size: 25 };
    let order = [...Array(nRows).keys()];

    const status = document.getElementById("features-status");
    const [previous, next] = ["features-previous", "features-next"].map((id) => document.getElementById(id));

    const reorder = () => {
      const column = values[state.sorted];
      const compare = columns[state.sorted].kind === "name"
        ? (a, b) => collator.compare(column[a], column[b])
        : (a, b) => column[a] - column[b];
      const sign = state.descending ? -1 : 1;
      const wanted = state.wanted.toLowerCase();
      order = [...Array(nRows).keys()]
        .filter((row) => lowered[row].includes(wanted))
        .sort((a, b) => sign * compare(a, b) || a - b);
    };

    const cell = (column, value) => {
      if (column.kind === "name") {
        return element("td", { class: "name" }, element("span", { title: value }, value));
      }
      if (value === null) return element("td", { class: "num" }, "none");
      const made = element("td", { class: "num" });
      if (column.kind === "probability") {
        const meter = element("span", { class: "meter", "aria-hidden": "true" }, element("i"));
        meter.firstChild.style.setProperty("--v", value);
        made.append(meter);
      }
      made.append(column.kind === "count" ? value.toLocaleString("en") : value.toFixed(3));
      return made;
    };

    const draw = () => {
      const nPages = Math.max(1, Math.ceil(order.length / state.size));
      state.page = Math.min(state.page, nPages - 1);
      const begin = state.page * state.size;
      const shown = order.slice(begin, begin + state.size);
      table.tBodies[0].replaceChildren(...shown.map((row) =>
        element("tr", {}, ...columns.map((column, place) => cell(column, values[place][row])))));
      const found = order.length === nRows ? "" : ` found among ${nRows.toLocaleString("en")}`;
      status.textContent = order.length
        ? `${(begin + 1).toLocaleString("en")} to ${(begin + shown.length).toLocaleString("en")} of ${order.length.toLocaleString("en")}${found}`
        : `No feature has “${state.wanted}” in its name.`;
      previous.disabled = state.page === 0;
      next.disabled = state.page >= nPages - 1;
      [...table.tHead.rows[0].cells].forEach((head, place) => {
        if (place === state.sorted) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
    };

    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = element("button", { type: "button", title: columns[place].explanation }, head.textContent);
      head.replaceChildren(button);
      head.classList.add("sortable");
      button.addEventListener("click", () => {
        const isNumber = !["name", "rank"].includes(columns[place].key);
        state.descending = state.sorted === place ? !state.descending : isNumber;
        state.sorted = place;
        state.page = 0;
        reorder();
        draw();
      });
    });
    document.getElementById("features-search").addEventListener("input", (event) => {
      state.wanted = event.target.value.trim();
      state.page = 0;
      reorder();
      draw();
    });
    document.getElementById("features-size").addEventListener("change", (event) => {
      state.size = Number(event.target.value);
      state.page = 0;
      draw();
    });
    previous.addEventListener("click", () => { state.page -= 1; draw(); });
    next.addEventListener("click", () => { state.page += 1; draw(); });

    document.getElementById("features-save").addEventListener("click", () => {
      const quoted = (value) => {
        const written = String(value);
        return /[",\n\r]/.test(written) ? `"${written.replaceAll('"', '""')}"` : written;
      };
      const lines = [columns.map((column) => quoted(column.key)).join(",")];
      for (const row of order) lines.push(values.map((column) => quoted(column[row])).join(","));
      const link = element("a", { download: "importances.csv" });
      link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
    document.querySelectorAll(".tools, .pages div").forEach((tools) => { tools.hidden = false; });
    draw();
  }

  // -- charts: the values under the pointer, or under the arrow keys ---------------------------------

  document.querySelectorAll("[data-chart]").forEach((chart) => {
    const { x, xLabels, lines, xRange, xName, area: [left, right] } = data.charts[chart.dataset.chart];
    const perUnit = (right - left) / (xRange[1] - xRange[0]);
    const area = chart.querySelector(".area");
    const cursor = chart.querySelector(".cursor");
    const readout = chart.querySelector(".readout");
    let place = x.length - 1;

    const nearest = (wanted) => {
      let low = 0;
      let high = x.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (x[middle] < wanted) low = middle; else high = middle;
      }
      return wanted - x[low] <= x[high] - wanted ? low : high;
    };
    const written = (value) => {
      if (value === null) return "none";
      return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(4);
    };
    const read = () => {
      cursor.hidden = false;
      cursor.style.left = `${100 * (left + (x[place] - xRange[0]) * perUnit)}%`;
      const spoken = Object.entries(lines).map(([name, values]) => `${name} ${written(values[place])}`);
      readout.textContent = `${xName} ${xLabels?.[place] ?? x[place].toLocaleString("en")}: ${spoken.join(", ")}`;
    };
    const leave = () => { cursor.hidden = true; readout.textContent = ""; };

    area.addEventListener("pointermove", (event) => {
      const box = area.getBoundingClientRect();
      place = nearest(xRange[0] + ((event.clientX - box.left) / box.width - left) / perUnit);
      read();
    });
    area.addEventListener("pointerleave", leave);
    chart.addEventListener("blur", leave);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      place = Math.max(0, Math.min(x.length - 1, place + step));
      read();
    });
  });

  // -- code to copy ----------------------------------------------------------------------------------

  document.querySelectorAll(".code").forEach((block) => {
    const button = element("button", { type: "button" }, "Copy");
    block.append(button);
    button.addEventListener("click", async () => {
      const code = block.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        // Where a page from a file may not write to the clipboard, the reader can.
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });
})();

"use strict";
for (const region of document.querySelectorAll("[data-searchable]")) {
  const search = region.querySelector("input[type=search]");
  const count = region.querySelector(".count");
  const items = [...region.querySelectorAll("[data-text]")];
  const noun = region.dataset.searchable;
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const hit = words.every((word) => item.dataset.text.toLowerCase().includes(word));
      item.hidden = !hit;
      if (hit) shown += 1;
    }
    count.textContent = `${shown.toLocaleString()} of ${items.length.toLocaleString()} ${noun}`;
  };
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) { search.value = ""; filter(); }
  });
  filter();
}
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = column ? head.getAttribute("aria-sort") !== "descending" : head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => column ? Number(row.cells[column].dataset.value) : row.cells[0].textContent;
    const compare = column ? (a, b) => a - b : (a, b) => a.localeCompare(b, undefined, { numeric: true });
    const rows = [...body.rows].map((row) => [value(row), row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  }));
}

"use strict";
const table = document.getElementById("table"), rows = [...table.tBodies[0].rows];
const search = document.getElementById("filter"), paper = document.getElementById("paper");
const boxes = [...document.querySelectorAll("[data-only]")];

function filter() {
  const words = search.value.toLowerCase().split(/\s+/);
  const wanted = boxes.filter((box) => box.ariaPressed === "true").map((box) => box.dataset.only);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word)) || (paper.value && row.dataset.paper !== paper.value)
      || (wanted.length > 0 && !wanted.includes(row.dataset.outcome));
  }
  const count = rows.filter((row) => !row.hidden).length;
  document.getElementById("shown").textContent = count === rows.length ? `${count} rows` : `${count} of ${rows.length} rows`;
}

// A cell is sorted by its data-value where it has one, as a number if both are numbers, else by its text.
function compare(a, b) {
  const x = Number(a), y = Number(b);
  return a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y) ? x - y : a.localeCompare(b, "en", {numeric: true});
}

table.tHead.addEventListener("click", (event) => {
  const head = event.target.closest("th");
  if (!head || !head.textContent) return;
  const sign = head.ariaSort === "ascending" ? -1 : 1, place = head.cellIndex;
  const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
  for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
  head.ariaSort = sign > 0 ? "ascending" : "descending";
  table.tBodies[0].append(...rows.sort((a, b) => sign * compare(value(a), value(b))));
});

// What has not run is out of sight at first, unless there is nothing else.
const ran = boxes.some((box) => box.dataset.only !== "not run");
for (const box of boxes) {
  box.ariaPressed = String(ran && box.dataset.only !== "not run");
  box.addEventListener("click", () => { box.ariaPressed = String(box.ariaPressed !== "true"); filter(); });
}
search.addEventListener("input", filter);
paper.addEventListener("change", filter);
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
filter();

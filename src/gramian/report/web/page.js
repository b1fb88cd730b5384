"use strict";

// Theme: that of the system until the button is pressed; the browser stores the choice if it stores data for files.
const root = document.documentElement, theme = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
if (theme) {
  const update = () => theme.setAttribute("aria-pressed", String(isDark()));
  try { root.dataset.theme = localStorage.getItem("gramian-theme") ?? ""; } catch { /* no storage */ }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("gramian-theme", root.dataset.theme); } catch { /* the choice is not stored */ }
    update();
  });
  system.addEventListener("change", update);
  update();
}

// Sorting: by the data-value of a cell if it has one, else by its text; as numbers if both are numbers.
// Cells without a value are last in both directions.
function compare(a, b, sign) {
  const empty = (value) => value === "" || value === "–" || value === "nan";
  if (empty(a) || empty(b)) return empty(a) - empty(b);
  const x = Number(a), y = Number(b);
  return sign * (!Number.isNaN(x) && !Number.isNaN(y) ? x - y : a.localeCompare(b, "en", {numeric: true}));
}
for (const sorted of document.querySelectorAll("table.sortable")) {
  const heads = [...[...sorted.tHead.rows].at(-1).cells], body = sorted.tBodies[0];
  for (const head of heads) {
    const button = head.querySelector("button");
    if (!button) continue;
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1, place = head.cellIndex;
      const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent.trim();
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b), sign)));
    });
  }
}

// Tables that are wider than the screen say so. The browser reports sizes as they change, and those of hidden or distant
// parts once they are laid out: to ask for them here would lay out the whole page before it is shown.
const sizes = new ResizeObserver((entries) => {
  for (const region of new Set(entries.map((entry) => entry.target.closest(".gramian-result")))) {
    region.classList.toggle("overflows", region.scrollWidth > region.clientWidth + 1);
  }
});
for (const region of document.querySelectorAll(".gramian-result")) {
  sizes.observe(region);
  for (const part of region.children) sizes.observe(part);
}

// Tabs: one panel at a time; the arrow keys, Home and End move between them.
for (const set of document.querySelectorAll(".tabs")) {
  const list = set.querySelector("[role=tablist]"), tabs = [...list.children];
  const choose = (chosen, focus) => {
    for (const tab of tabs) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    }
    if (focus) chosen.focus();
  };
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
  list.addEventListener("keydown", (event) => {
    const place = tabs.indexOf(document.activeElement), last = tabs.length - 1;
    const to = {ArrowRight: place === last ? 0 : place + 1, ArrowLeft: place === 0 ? last : place - 1,
      Home: 0, End: last}[event.key];
    if (to === undefined || place < 0) return;
    event.preventDefault();
    choose(tabs[to], true);
  });
  choose(tabs[0]);
}

// Sliders: the frame at the position of the knob, and its label.
for (const slider of document.querySelectorAll(".slider")) {
  const knob = slider.querySelector("input"), output = slider.querySelector("output");
  const frames = [...slider.children].filter((part) => part.classList.contains("frame"));
  const show = () => {
    frames.forEach((frame, i) => { frame.hidden = i !== Number(knob.value); });
    output.textContent = frames[knob.value].dataset.label;
    knob.setAttribute("aria-valuetext", output.textContent);
  };
  knob.addEventListener("input", show);
  show();
}

// Printing: folded parts are opened before, and closed after.
const closed = [];
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) { closed.push(part); part.open = true; }
});
addEventListener("afterprint", () => { for (const part of closed.splice(0)) part.open = false; });

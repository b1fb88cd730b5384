
// Filter the table of verdicts by words, paper and outcome.
const rows = [...document.getElementById("table").tBodies[0].rows];
const search = document.getElementById("filter"), paper = document.getElementById("paper");
const boxes = [...document.querySelectorAll("[data-only]")];
const paperOf = (row) => row.querySelector("[data-paper]").dataset.paper;
const outcomeOf = (row) => row.querySelector("[data-outcome]").dataset.outcome;
const pressed = (box) => box.getAttribute("aria-pressed") === "true";

function filter() {
  const words = search.value.toLowerCase().split(/\s+/);
  const wanted = boxes.filter(pressed).map((box) => box.dataset.only);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word)) || Boolean(paper.value && paperOf(row) !== paper.value)
      || (wanted.length > 0 && !wanted.includes(outcomeOf(row)));
  }
  const count = rows.filter((row) => !row.hidden).length;
  document.getElementById("shown").textContent = count === rows.length ? `${count} rows` : `${count} of ${rows.length} rows`;
}

// Claims that have not run are hidden at first, unless there are no others.
const ran = boxes.some((box) => box.dataset.only !== "not run");
for (const box of boxes) {
  box.setAttribute("aria-pressed", String(ran && box.dataset.only !== "not run"));
  box.addEventListener("click", () => { box.setAttribute("aria-pressed", String(!pressed(box))); filter(); });
}
search.addEventListener("input", filter);
paper.addEventListener("change", filter);
filter();


// Filter the table of verdicts by words, paper and outcome; a search also hides experiments without a match.
const rows = [...document.getElementById("table").tBodies[0].rows];
const search = document.getElementById("filter"), paper = document.getElementById("paper");
const boxes = [...document.querySelectorAll("[data-only]")];
const paperOf = (row) => row.querySelector("[data-paper]").dataset.paper;
const outcomeOf = (row) => row.querySelector("[data-outcome]").dataset.outcome;
const anchorOf = (row) => row.querySelector("[data-paper]").getAttribute("href");
const cards = [...document.querySelectorAll("section.card")];
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const matches = (row, words) => words.every((word) => texts.get(row).includes(word))
  && !(paper.value && paperOf(row) !== paper.value);
const pressed = (box) => box.getAttribute("aria-pressed") === "true";

function filter() {
  const words = search.value.toLowerCase().split(/\s+/);
  const wanted = boxes.filter(pressed).map((box) => box.dataset.only);
  for (const row of rows) {
    row.hidden = !matches(row, words) || (wanted.length > 0 && !wanted.includes(outcomeOf(row)));
  }
  const searched = search.value.trim() !== "" || paper.value !== "";
  const found = new Set(rows.filter((row) => matches(row, words)).map(anchorOf));
  for (const card of cards) card.hidden = searched && !found.has("#" + card.id);
  const count = rows.filter((row) => !row.hidden).length;
  document.getElementById("shown").textContent = count === rows.length ? `${count} rows` : `${count} of ${rows.length} rows`;
}

// Claims that have not run are hidden at first, unless there are no others.
const ran = boxes.some((box) => box.dataset.only !== "not run");
for (const box of boxes) {
  box.setAttribute("aria-pressed", String(ran && box.dataset.only !== "not run"));
  box.addEventListener("click", () => { box.setAttribute("aria-pressed", String(!pressed(box))); filter(); });
}
// Enter goes to the first experiment found; a link to a hidden experiment ends the search.
search.addEventListener("keydown", (event) => {
  const first = cards.find((card) => !card.hidden);
  if (event.key === "Enter" && first) location.hash = first.id;
});
function follow() {
  const card = document.getElementById(location.hash.slice(1));
  if (!card) return;
  if (card.hidden) {
    search.value = paper.value = "";
    filter();
  }
  // Sections get their height when they come near the window, which moves those below: repeat until the place is stable.
  let left = 20;
  const settle = () => {
    const before = card.getBoundingClientRect().top;
    card.scrollIntoView({ behavior: "instant" });
    left -= 1;
    if (left > 0 && Math.abs(card.getBoundingClientRect().top - before) > 1) requestAnimationFrame(settle);
  };
  settle();
}
window.addEventListener("hashchange", follow);
search.addEventListener("input", filter);
paper.addEventListener("change", filter);
filter();
// Filtering has moved what is below the table.
follow();

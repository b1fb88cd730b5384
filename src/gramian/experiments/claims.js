
// A figure or folded table is text until it comes near the window, or until the page is printed.
const draw = (box) => { if (box.firstElementChild?.tagName === "SCRIPT") box.innerHTML = box.firstElementChild.textContent; };
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
}, { rootMargin: "800px" });
const late = [...document.querySelectorAll(".late")];
for (const box of late) near.observe(box);
window.addEventListener("beforeprint", () => late.forEach(draw));

// Filter the table of verdicts by words, paper and outcome; a search also hides experiments without a match.
const body = document.getElementById("table").tBodies[0], rows = [...body.rows];
const search = document.getElementById("filter"), paper = document.getElementById("paper");
const boxes = [...document.querySelectorAll("[data-only]")];
const paperOf = (row) => row.querySelector("[data-paper]").dataset.paper;
const outcomeOf = (row) => row.querySelector("[data-outcome]").dataset.outcome;
const anchorOf = (row) => row.querySelector("[data-paper]").getAttribute("href");
const cards = [...document.querySelectorAll("section.card")];
const byAnchor = new Map(cards.map((card) => ["#" + card.id, card]));
const cardOf = (row) => byAnchor.get(anchorOf(row));
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase() + " " + (cardOf(row)?.dataset.search ?? "")]));
const artefacts = new Map(cards.map((card) => ["#" + card.id, new Set((card.dataset.artefacts ?? "").split(" "))]));

// "Fig. 3", "figure 3" and "fig3" are one artefact, written as the page writes it: figure3. The rest is words.
const kinds = {
  figure: "fig(?:ure)?s?", table: "tab(?:le)?s?", theorem: "theorems?|thms?", proposition: "prop(?:osition)?s?",
  lemma: "lemmas?", corollary: "cor(?:ollary|ollaries)?", equation: "eq(?:uation)?s?", section: "sec(?:tion)?s?",
  algorithm: "alg(?:orithm)?s?",
};
function parse(query) {
  let rest = query.toLowerCase().replace(/[“”"]/g, " ");
  const named = [];
  const take = (pattern, kind) => {
    rest = rest.replace(pattern, (_, number) => {
      named.push(kind + number.replace(/-/g, ".").replace(/^([a-z])\.?/, "$1"));
      return " ";
    });
  };
  for (const [kind, words] of Object.entries(kinds)) {
    take(new RegExp(`(?<![\\w/])(?:${words})\\.?[\\s-]*\\(?((?:[a-z]\\.?)?\\d+(?:[.-]\\d+)*[a-z]?)\\)?(?!\\w)`, "g"), kind);
  }
  take(/\bappendix[\s-]+([a-z])\b/g, "appendix");
  const words = rest.split(/\s+/).map((word) => word.replace(/^[(,;:]+|[),;:.]+$/g, "")).filter((word) => word !== "");
  // A single letter is a paper: "D table 2", "paper D".
  const letters = words.filter((word) => /^[a-z]$/.test(word));
  const others = words.filter((word) => !/^[a-z]$/.test(word) && !(word === "paper" && letters.length > 0));
  return { named, letters, words: others };
}
const forms = (word) => [word, word.replace(/ies$/, "y"), word.replace(/y$/, "ies"), word.replace(/(?<=\w{3})s$/, "")];
const matches = (row, asked) => asked.named.every((name) => artefacts.get(anchorOf(row))?.has(name))
  && asked.letters.every((letter) => paperOf(row).toLowerCase() === letter)
  && asked.words.every((word) => forms(word).some((form) => texts.get(row).includes(form)))
  && !(paper.value && paperOf(row) !== paper.value);
const pressed = (box) => box.getAttribute("aria-pressed") === "true";

// A browser takes long to lay out a table of thousands of rows, so only the first ones are shown until all are asked for.
const more = document.getElementById("more");
let limit = 200;
more.addEventListener("click", () => { limit = Infinity; filter(); });
document.getElementById("table").tHead.addEventListener("click", () => setTimeout(filter));

function filter() {
  const asked = parse(search.value);
  const wanted = boxes.filter(pressed).map((box) => box.dataset.only);
  const found = rows.filter((row) => matches(row, asked));
  const shown = new Set(found.filter((row) => wanted.length === 0 || wanted.includes(outcomeOf(row))));
  let left = limit;
  for (const row of [...body.rows]) {
    row.hidden = !(shown.has(row) && left > 0);
    if (!row.hidden) left -= 1;
  }
  body.parentElement.classList.remove("fresh");
  more.hidden = shown.size <= limit;
  more.textContent = `show all ${shown.size} rows`;
  const searched = search.value.trim() !== "" || paper.value !== "";
  const anchors = new Set(found.map(anchorOf));
  for (const card of cards) card.hidden = searched && !anchors.has("#" + card.id);
  const other = found.length - shown.size;
  document.getElementById("shown").textContent = (shown.size === rows.length ? `${shown.size} rows` : `${shown.size} of ${rows.length} rows`)
    + (searched && other > 0 ? `, and ${other} with outcomes that are not chosen above` : "");
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
  // After a reload the browser would go back to a place that late figures have moved since.
  history.scrollRestoration = card ? "manual" : "auto";
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

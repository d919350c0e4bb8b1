// The page of a run in the audit is replaced while the run goes on: what was open stays open, and
// everything stays where it was.
const findLive = (selector) => [...document.querySelectorAll(`#run-live ${selector}`)];

let details = [];
let scrollers = [];
let pageTop = 0;

document.addEventListener("htmx:beforeSwap", () => {
  details = findLive("details").map(({ id, open }) => ({ id, open }));
  scrollers = findLive(".scroll[id]").map(({ id, scrollLeft }) => ({ id, scrollLeft }));
  pageTop = scrollY;
});

document.addEventListener("htmx:afterSwap", () => {
  for (const { id, ...state } of [...details, ...scrollers]) {
    Object.assign(document.getElementById(id) ?? {}, state);
  }
  scrollTo({ top: pageTop, behavior: "instant" });
});

// While a run goes on its parts are replaced: what was open stays open, and everything where it is.
{
  const $ = (id) => document.getElementById(id);
  const all = (what) => [...document.querySelectorAll(`#run-live ${what}`)];
  let details, scrolled, height;
  document.addEventListener("htmx:beforeSwap", () => {
    details = all("details").map((e) => [e.id, e.open]);
    scrolled = all(".scroll[id]").map((e) => [e.id, e.scrollLeft]);
    height = scrollY;
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const [id, open] of details) if ($(id)) $(id).open = open;
    for (const [id, left] of scrolled) if ($(id)) $(id).scrollLeft = left;
    scrollTo({ top: height, behavior: "instant" });
  });
}

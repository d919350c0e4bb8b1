// What several modules of a chat page use.

export const { find, findAll, on } = htmx;

export const chat = find("#chat").dataset;
export const scroller = find("#scroll");
export const flash = find("#flash"); // says above the composer what went wrong

export const isTouch = matchMedia("(pointer: coarse)").matches;

export const isRunning = () => Boolean(find("[data-running=yes]"));
export const lastExchange = () => find(".exchange:last-child");

export const announce = (text) => {
  find("#announce").textContent = text;
};

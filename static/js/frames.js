// What comes over the socket: what is open stays open, nothing comes twice.
import { acknowledge, forgetUnsent, showControls } from "./composer.js";
import { send } from "./connection.js";
import { chat, find, findAll, flash, on } from "./page.js";
import { follow, releaseReader } from "./scrolling.js";

// Frames that change the end of the open block (chat/rendering/dom_patch.py):
// "+LENGTH TEXT" and "+DEPTH.KEEP HTML".
const PATCH = /^\+(\d+)(?:\.(\d+))? (.*)/s;

const appendText = (block, length, text) => {
  const lastText = document.evaluate(
    "(.//text()[normalize-space()])[last()]", block, null, XPathResult.FIRST_ORDERED_NODE_TYPE,
  ).singleNodeValue;
  if (lastText.length === length) lastText.appendData(text); // else this frame has come before
};

const replaceEnd = (block, depth, keep, html) => {
  let parent = block;
  for (let level = 0; level < depth; level++) parent = parent.lastElementChild;
  const lastKept = parent.children[keep - 1] ?? null;
  while (parent.lastChild !== lastKept) parent.lastChild.remove();
  parent.insertAdjacentHTML("beforeend", html);
};

on("htmx:wsBeforeMessage", (event) => {
  releaseReader();
  const patch = PATCH.exec(event.detail.message);
  if (!patch) return;
  event.preventDefault();
  const [, number, keep, added] = patch;
  const openBlock = find("[id$=-tail]");
  if (keep) replaceEnd(openBlock, Number(number), Number(keep), added);
  else appendText(openBlock, Number(number), added);
  follow();
});

let focusedId = ""; // what had the focus before it was replaced

const keepDetailsOpen = (target, fragment) => {
  for (const details of findAll(target.parentNode, "details[id][open]:not([data-busy])")) {
    find(fragment, "#" + details.id)?.setAttribute("open", "");
  }
};

// What a repeated frame adds again replaces the first.
const replaceKnown = (target, fragment) => {
  for (const element of [...fragment.children]) {
    const known = element.id && element.id !== target.id && find("#" + element.id);
    if (!known) continue;
    for (const kept of findAll(element, "[hx-preserve]")) kept.replaceWith(find("#" + kept.id) ?? kept);
    known.replaceWith(element);
    htmx.process(element);
  }
};

on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  const isBeingRead = target.matches(".tools:has([open])");
  if (isBeingRead || target.isEqualNode(fragment.firstChild)) return event.preventDefault();
  if (target.matches(":focus-within")) focusedId = document.activeElement.closest("[id]").id;
  if (target === flash) forgetUnsent();
  keepDetailsOpen(target, fragment);
  replaceKnown(target, fragment);
});

const restoreFocus = () => {
  // The same element, the first in it that takes the focus, or the composer.
  for (const place of ["#" + focusedId, `#${focusedId} > *`, "#question"]) {
    if (!find(":focus")) find(place)?.focus({ preventScroll: true });
  }
};

on("htmx:wsAfterMessage", () => {
  if (focusedId) restoreFocus();
  focusedId = "";
  follow();
});

const showTitle = () => { document.title = find("#title").textContent + " · Oracle"; };

const ARRIVALS = { // by the id of the element that arrived
  ack: acknowledge,
  beat: ({ frames }) => send({ verb: "ack", frames }),
  controls: showControls,
  title: showTitle,
};

htmx.onLoad((root) => {
  ARRIVALS[root.id]?.(root.dataset);
  for (const head of findAll(root, ".code-head")) head.append(find("#copy-code").content.cloneNode(true));
});

on(document, "visibilitychange", showTitle); // an answer that is seen has no dot

// Seconds of what is running, by the server's clock.
setInterval(() => {
  const now = Number(chat.now) + performance.now() / 1000;
  for (const timer of findAll("[data-since]")) {
    timer.textContent = `${Math.max(0, Math.floor(now - timer.dataset.since))} s`;
  }
}, 1000);

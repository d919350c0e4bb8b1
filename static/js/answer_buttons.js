// The buttons of answers and of code: copy, keep in a thread.
import { announce, find, on, scroller } from "./page.js";

const copyContents = (source) => {
  const selection = getSelection();
  selection.selectAllChildren(source);
  // Long code is in several blocks.
  let block = source.closest(".block")?.nextElementSibling;
  while (block && find(block, ".code.more")) {
    selection.extend(block, 1);
    block = block.nextElementSibling;
  }
  scroller.classList.add("copying"); // hides what is no text
  document.execCommand("copy"); // the clipboard API needs https
  scroller.classList.remove("copying");
  selection.empty();
  announce("Copied");
};

on("click", ({ target }) => {
  const button = target.closest("[data-copy], .code button");
  if (button) copyContents(button.closest(".code") ?? find(`#${button.dataset.copy}-parts`));
});

// Before a press ends the selection; nothing selected is the whole answer.
const takePassage = ({ target }) => {
  const button = target.closest?.("[data-keep]"), chosen = getSelection();
  if (!button) return;
  const answer = find(`#${button.dataset.keep}-parts`);
  const text = answer.contains(chosen.anchorNode) && answer.contains(chosen.focusNode) ? `${chosen}`.trim() : "";
  button.setAttribute("hx-vals", JSON.stringify({ text }));
};
on("pointerdown", takePassage);
on("keydown", takePassage);
on("htmx:afterSwap", ({ detail: { target } }) => {
  if (target.id === "keep" && !target.open) target.showModal();
});

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
  scroller.classList.add("copying"); // hides what is on the page but not part of the text
  document.execCommand("copy"); // the clipboard API needs https, and a site at home has none
  scroller.classList.remove("copying");
  selection.empty();
  announce("Copied");
};

on("click", ({ target }) => {
  const button = target.closest("[data-copy], .code button");
  if (button) copyContents(button.closest(".code") ?? find(`#${button.dataset.copy}-parts`));
});

const dialog = find("#keep");
let passage = "";

/** Remember what is selected in an answer, before the press of its button ends the selection. */
const takePassage = ({ target }) => {
  const button = target.closest?.("[data-keep]");
  if (!button) return;
  const answer = find(`#${button.dataset.keep}-parts`), chosen = getSelection();
  const isInside = answer.contains(chosen.anchorNode) && answer.contains(chosen.focusNode);
  passage = isInside ? `${chosen}`.trim() : "";
};
on("pointerdown", takePassage);
on("keydown", takePassage);

on("htmx:afterSwap", ({ detail }) => {
  if (detail.target !== dialog) return;
  const text = find(dialog, "[name=text]");
  if (text && passage) text.value = passage;
  passage = "";
  if (!dialog.open) dialog.showModal();
});

// Keeping an answer in a thread, or what of it is selected.
import { find, on } from "./page.js";

const dialog = find("#keep");
let passage = "";

/** Remember what is selected in the answer, before the press of the button ends the selection. */
const takePassage = ({ target }) => {
  const button = target.closest?.("[data-keep]");
  if (!button) return;
  const answer = find(`#${button.dataset.keep}-parts`);
  const { anchorNode, focusNode } = getSelection();
  const isInside = answer.contains(anchorNode) && answer.contains(focusNode);
  passage = isInside ? getSelection().toString().trim() : "";
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

// The copy buttons of answers and of code.
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

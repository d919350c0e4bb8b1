// Whoever leaves a page with a text that is not saved is asked first, by the browser.
let isSending = false;
const isUnsaved = (field) => !field.readOnly && (field.hasAttribute("data-unsaved") || field.value !== field.defaultValue);

addEventListener("submit", (event) => { isSending = !event.defaultPrevented; });
addEventListener("pageshow", () => { isSending = false; }); // back again, from the browser's memory
addEventListener("beforeunload", (event) => {
  if (!isSending && [...document.querySelectorAll("textarea")].some(isUnsaved)) event.preventDefault();
});

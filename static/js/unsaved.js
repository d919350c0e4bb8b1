// Whoever leaves a page with a text that is not saved is asked first, by the browser.
let sending = null; // the form that the page is left by: what it sends is not lost
const isUnsaved = (field) => !field.readOnly && (field.hasAttribute("data-unsaved") || field.value !== field.defaultValue);

addEventListener("submit", (event) => { sending = event.defaultPrevented ? null : event.target; });
addEventListener("beforeunload", (event) => {
  const fields = [...document.querySelectorAll("textarea")];
  if (fields.some((field) => field.form !== sending && isUnsaved(field))) event.preventDefault();
  sending = null; // who stays, or comes back from the browser's memory, is asked again
});

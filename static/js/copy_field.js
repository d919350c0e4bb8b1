// The button beside a field whose content is shown once: a token, a link.
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select(); // so that it can be copied by hand where the clipboard is not allowed
  navigator.clipboard?.writeText(field.value).then(() => { button.textContent = "Copied"; }, () => {});
});

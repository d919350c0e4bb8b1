// The settings pages. Each setting is a form that htmx sends; here is what that cannot do.
import "./copy_field.js";

const { findAll, on } = htmx;

const getForm = (element) => element.closest?.(".setting");
const getInput = (form) => form.querySelector("[name=value]:not([type=radio])");
const getSlider = (form) => form.querySelector("[type=range]");
const getStored = (form) => form.querySelector("[name=seen]")?.value;

// "saving" (not sent, or not answered), "saved", "refused", or "" (nothing to say)
const setState = (form, state) => {
  form.dataset.is = state;
  getInput(form)?.setAttribute("aria-invalid", state === "refused");
};

const showState = (form, state, text) => {
  setState(form, state);
  form.querySelector(".setting-state").textContent = text;
};

// The slider and the number are one value.
const syncSlider = (form, input) => {
  if (input.type === "range") getInput(form).value = input.value;
  else if (getSlider(form)) getSlider(form).value = input.value.replace(/[,\s]/g, "");
};

on("input", ({ target }) => {
  const form = getForm(target);
  if (!form) return;
  syncSlider(form, target);
  if (target.name === "value" && form.id === "setting-theme") {
    document.documentElement.dataset.theme = target.value; // seen at once
  }
  showState(form, "saving", form.dataset.typing || "Saving");
});

// A line of text that is as it was is left without a request.
on("focusout", ({ target }) => {
  const form = getForm(target);
  if (!form?.dataset.typing || form.dataset.is !== "saving") return;
  if (target.value === (getStored(form) ?? "")) showState(form, "", "");
});

// Refused (422) and changed elsewhere (409) are answers, not failures.
let hadFocus = false;
on("htmx:beforeSwap", ({ detail, target }) => {
  hadFocus = target.closest(".setting")?.contains(document.activeElement);
  if (detail.xhr.status === 409) Object.assign(detail, { shouldSwap: true, isError: false });
});

on("htmx:afterSwap", ({ detail, target }) => {
  showLocalTimes();
  const form = document.getElementById(target.id)?.closest(".setting");
  if (!form) return;
  setState(form, detail.xhr.status < 400 ? "saved" : "refused");
  const isFocusLost = hadFocus && document.activeElement === document.body; // its button is gone
  if (isFocusLost) getInput(form)?.focus({ preventScroll: true });
});

const showLocalTimes = () => {
  for (const time of findAll(".setting-state time")) {
    time.textContent = new Date(time.dateTime).toTimeString().slice(0, 5);
  }
};

const FAILURES = {
  0: "The server does not answer. Change it again when it does.",
  401: "You are signed out. Reload this page.",
  403: "This page is too old. Reload it, then change it again.",
};
const MAX_SENTENCE = 200;

const explainFailure = ({ status, responseText }) => {
  // A 503 of our own is a sentence; that of a proxy is a page.
  if (status === 503 && responseText.length < MAX_SENTENCE) return responseText;
  return FAILURES[status] || "Something went wrong. Change it again.";
};

const showFailure = ({ target, detail }) => {
  const form = getForm(target);
  if (form) showState(form, "refused", `Not saved. ${explainFailure(detail.xhr)}`);
};
on("htmx:responseError", showFailure);
on("htmx:sendError", showFailure);

// What takes a while says so meanwhile.
on("htmx:beforeRequest", ({ target, detail }) => {
  if (target.dataset.asking) detail.target.textContent = target.dataset.asking;
});

// A text that was refused and has no problems any more is not marked as wrong.
on("htmx:afterSwap", ({ target }) => {
  if (!target.matches(".rule-check")) return;
  document.getElementById("text").setAttribute("aria-invalid", Boolean(target.querySelector(".bad")));
});

// Problems name lines, so these are numbered. Without JavaScript there are no numbers.
const numberLines = (area) => {
  const numbers = document.createElement("div");
  numbers.className = "line-numbers";
  numbers.ariaHidden = true;
  area.before(numbers);
  let shown = 0;
  const update = () => {
    const count = area.value.split("\n").length;
    if (count !== shown) numbers.textContent = Array.from({ length: count }, (_, i) => i + 1).join("\n");
    shown = count;
    numbers.scrollTop = area.scrollTop;
  };
  area.addEventListener("input", update);
  area.addEventListener("scroll", update);
  update();
};
findAll(".numbered > textarea").forEach(numberLines);

// What was typed before htmx listened is checked like what is typed after.
addEventListener("load", () => {
  for (const area of findAll(".numbered > textarea")) {
    if (area.value !== area.defaultValue) htmx.trigger(area, "input");
  }
});

// Another tab may have changed something meanwhile: take over what nobody is changing here.
const takeOver = (form, page) => {
  const fresh = page.getElementById(form.id);
  const isBusy = ["saving", "refused"].includes(form.dataset.is);
  if (!fresh || isBusy || getStored(fresh) === getStored(form)) return;
  const focusedId = form.contains(document.activeElement) && document.activeElement.id;
  form.replaceWith(fresh);
  htmx.process(fresh);
  if (focusedId) document.getElementById(focusedId)?.focus();
};

document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !findAll(".setting").length) return;
  const response = await fetch(location.pathname).catch(() => null);
  if (!response?.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const form of findAll(".setting")) takeOver(form, page);
  for (const shown of findAll("#preview, #history, .setting-meaning")) {
    shown.replaceChildren(...page.getElementById(shown.id)?.childNodes ?? []);
  }
});

// What was not sent yet when somebody leaves is sent then.
addEventListener("pagehide", () => {
  for (const form of findAll(".setting")) {
    const isUnsent = form.dataset.is === "saving" && !form.dataset.typing;
    if (isUnsent) navigator.sendBeacon(form.action, new FormData(form));
  }
});

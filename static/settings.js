// What the settings cannot do without script. They save themselves by htmx; see settings/form.html.
const { on, findAll: all } = htmx;
const form = (event) => event.target.closest?.(".setting");
const state = (of) => of.querySelector(".setting-state");
const number = (of) => of.querySelector("[name=value]:not([type=radio])");
const slider = (of) => of.querySelector("[type=range]");
const is = (of, what) => { of.dataset.is = what; number(of)?.setAttribute("aria-invalid", what === "refused"); };
const say = (of, what, text) => { is(of, what); state(of).textContent = text; };
const local = (root) => {
  for (const time of all(root, ".setting-state time")) {
    time.textContent = new Date(time.dateTime).toTimeString().slice(0, 5);
  }
};

// The slider and the number are one value.
on("input", (event) => {
  const of = form(event);
  if (!of) return;
  if (event.target.type === "range") number(of).value = event.target.value;
  else if (slider(of)) slider(of).value = event.target.value.replace(/[,\s]/g, "");
  if (event.target.name === "value" && of.id === "setting-theme") {
    document.documentElement.dataset.theme = event.target.value;
  }
  say(of, "saving", of.dataset.typing || "Saving");
});

// A line of text that is as it was is left without a request.
on("focusout", (event) => {
  const of = form(event), stored = of?.querySelector("[name=seen]")?.value ?? "";
  if (of?.dataset.typing && of.dataset.is === "saving" && event.target.value === stored) say(of, "", "");
});

// Refused (422) and changed elsewhere (409) are answers, not failures.
let focused;
on("htmx:beforeSwap", ({ detail, target }) => {
  focused = target.closest(".setting")?.contains(document.activeElement);
  if (detail.xhr.status === 409) Object.assign(detail, { shouldSwap: true, isError: false });
});
on("htmx:afterSwap", ({ detail, target }) => {
  const of = document.getElementById(target.id)?.closest(".setting");
  local(document);
  if (!of) return;
  is(of, detail.xhr.status < 400 ? "saved" : "refused");
  if (focused && document.activeElement === document.body) number(of)?.focus({ preventScroll: true }); // its button is gone
});
const WHY = { // a 503 of ours says it itself
  0: "The server does not answer. Change it again when it does.",
  401: "You are signed out. Reload this page.",
  403: "This page is too old. Reload it, then change it again.",
};
const failed = (event) => {
  const of = form(event), { status, responseText } = event.detail.xhr;
  const why = status === 503 && responseText.length < 200 ? responseText : WHY[status] || "Something went wrong. Change it again.";
  if (of) say(of, "refused", `Not saved. ${why}`);
};
// What takes a while says so meanwhile.
on("htmx:beforeRequest", ({ target, detail }) => {
  if (target.dataset.asking) detail.target.textContent = target.dataset.asking;
});
on("htmx:responseError", failed);
on("htmx:sendError", failed);

// Another tab may have changed something meanwhile: take over what nobody is changing here.
document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !all(".setting").length) return;
  const answer = await fetch(location.pathname).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const now = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const of of all(".setting")) {
    const fresh = now.getElementById(of.id), seen = (f) => f.querySelector("[name=seen]")?.value;
    if (!fresh || ["saving", "refused"].includes(of.dataset.is) || seen(fresh) === seen(of)) continue;
    const focused = of.contains(document.activeElement) && document.activeElement.id;
    of.replaceWith(fresh);
    htmx.process(fresh);
    if (focused) document.getElementById(focused)?.focus();
  }
  for (const shown of all("#preview, #history, .setting-meaning")) {
    shown.replaceChildren(...now.getElementById(shown.id)?.childNodes ?? []);
  }
});

on("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  navigator.clipboard?.writeText(field.value).then(() => { button.textContent = "Copied"; }, () => {});
});

// What was not sent yet when somebody leaves is sent then.
addEventListener("pagehide", () => {
  for (const of of all(".setting")) {
    if (of.dataset.is === "saving" && !of.dataset.typing) navigator.sendBeacon(of.action, new FormData(of));
  }
});

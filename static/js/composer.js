// The question: draft, sending, stopping, editing, keys.
import { getState, isOpen, send } from "./connection.js";
import { announce, chat, find, flash, isRunning, isTouch, lastExchange, on } from "./page.js";
import { startFollowing } from "./scrolling.js";

const DOUBLE_PRESS_MS = 30;

const form = find("#composer");
const { question: field, edits, client_message_id: messageId } = form.elements;

let unsent = null; // a question that was not acknowledged
let stoppedAt = 0;
let turnedAt = 0; // when Send became Stop, or back

/** The server has refused the question. */
export const forgetUnsent = () => { unsent = null; };

const saveDraft = () => {
  if (!edits.value) localStorage[chat.draft] = field.value;
  // One id for one text: sent again, it is one question.
  messageId.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
};

const setQuestion = (text) => {
  field.value = text;
  saveDraft();
};

const startEdit = (exchange) => {
  edits.value = exchange.dataset.exchange;
  setQuestion(find(exchange, ".question-text").textContent);
};

const leaveEdit = () => {
  edits.value = "";
  setQuestion(localStorage.getItem(chat.draft));
};

/** The server has the question: only now it leaves the field. */
export const acknowledge = ({ message, url }) => {
  if (message === messageId.value) edits.value ? leaveEdit() : setQuestion("");
  forgetUnsent();
  flash.textContent = "";
  chat.draft = chat.conversation; // a new conversation has a row now
  find("#empty")?.remove();
  history.replaceState(0, "", url);
  if (!isTouch && form.matches(":focus-within")) field.focus();
  startFollowing();
};

/** Send and Stop have changed places. */
export const showControls = () => {
  turnedAt = Date.now();
  find("#thread").ariaBusy = isRunning();
  if (isRunning()) return;
  find("#flash .going")?.remove();
  if (stoppedAt) announce(`Stopped after ${(turnedAt - stoppedAt) / 1000} s`);
  if (document.hidden) document.title = "● " + document.title;
  stoppedAt = 0;
};

on(field, "input", saveDraft);

// After connection.js, which says first what the page shows.
on("htmx:wsOpen", () => {
  if (unsent) send(unsent);
});

on("htmx:wsConfigSend", (event) => {
  const values = event.detail.parameters;
  find(":popover-open")?.hidePopover();
  const allows = { stop: allowStop, submit: allowSubmit }[values.verb];
  if (allows && !allows(event, values)) event.preventDefault();
});

const allowStop = (event) => {
  // Send became Stop under a finger that was pressing it twice.
  if (Date.now() - turnedAt < DOUBLE_PRESS_MS) return false;
  event.detail.parameters = { verb: "stop" }; // without the form's fields
  event.target.textContent = "Stopping";
  stoppedAt = Date.now();
  return true;
};

const allowSubmit = (event, values) => {
  if (!values.question.trim()) return false;
  unsent = values;
  if (!isOpen()) flash.textContent = flash.dataset[getState()];
  return isOpen();
};

on("click", ({ target }) => {
  const hit = target.closest("[data-edit], [data-prompt], #cancel-edit");
  if (!hit) return;
  if (hit.dataset.prompt) setQuestion(hit.dataset.prompt);
  else if (hit.id === "cancel-edit") leaveEdit();
  else startEdit(hit.closest(".exchange"));
  field.focus();
});

const leaveOrStop = () => {
  turnedAt = 0; // a key is not pressed twice by mistake
  find(edits.value ? "#cancel-edit" : "#controls > *").click();
};

const focusSearch = () => {
  if (!find("#search").checkVisibility()) find("#sidebar").showPopover(); // a drawer
  find("#search").focus();
};

/** Return what a key does, or nothing. */
const getKeyAction = (event) => {
  const { key, shiftKey } = event;
  const hasModifier = event.ctrlKey || event.metaKey;
  if (event.target === field) {
    if (key === "Enter" && (hasModifier || !(shiftKey || isTouch))) return () => form.requestSubmit();
    if (key === "ArrowUp" && !field.value && lastExchange()) return () => startEdit(lastExchange());
  }
  const hasOverlay = find(":popover-open, :modal");
  if (key === "Escape" && (edits.value || isRunning()) && !hasOverlay) return leaveOrStop;
  if (!hasModifier) return null;
  return { k: focusSearch, O: () => find("#new-chat").click(), "/": () => find("#help").showModal() }[key];
};

on("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return; // an input method is at work
  const act = getKeyAction(event);
  if (!act) return;
  act();
  event.preventDefault();
});

// A dropped file would replace the page.
for (const name of ["dragover", "drop"]) on(name, (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  if (name === "drop") flash.textContent = flash.dataset.file;
});

leaveEdit(); // the draft of the last visit

// The page's WebSocket: htmx opens and reads it, here it is watched and given up.
import { find, findAll, lastExchange, on } from "./page.js";

const MAX_RETRY_MS = 4000;
const MAX_SILENCE_MS = 50_000; // the server sends a heartbeat every 20 s

const label = find("#connection");

let socket = null;
let heardAt = 0;

export const isOpen = () => socket?.readyState === WebSocket.OPEN;

/** Send values, if there is a connection. */
export const send = (values) => {
  if (isOpen()) socket.send(JSON.stringify(values));
};

/** Return "connecting", "open", "closed" (it comes back) or "over". */
export const getState = () => label.dataset.state;

const showState = (state, text) => {
  label.dataset.state = state;
  label.textContent = text;
};

// Random, so that not all pages of a restarted server come back at once.
htmx.config.wsReconnectDelay = (tries) => Math.min(MAX_RETRY_MS, 500 * 2 ** tries) * Math.random();

htmx.createWebSocket = (url) => {
  const opened = new WebSocket(url);
  opened.addEventListener("close", (event) => onClose(event, opened));
  socket = opened;
  heardAt = Date.now();
  return opened;
};

const onClose = (event, closed) => {
  // Given up before: its close event may come when another one is open.
  if (closed !== socket) return event.stopImmediatePropagation();
  socket = null;
  const sentence = label.dataset[event.code]; // one for each code after which it is over
  if (sentence) return showState("over", sentence);
  showState("closed", navigator.onLine ? "Reconnecting" : "Offline");
  // htmx comes back after some codes only, this is one of them.
  Object.defineProperty(event, "code", { value: 1006 });
};

// A dead connection takes minutes to close: its end is announced first.
const abandonSocket = () => {
  const dead = socket;
  dead?.dispatchEvent(new CloseEvent("close"));
  dead?.close();
};

on(window, "offline", abandonSocket);
on("htmx:wsBeforeMessage", () => { heardAt = Date.now(); });
setInterval(() => {
  if (Date.now() - heardAt > MAX_SILENCE_MS) abandonSocket();
}, 1000);

// Say what the page shows; the server sends what differs.
on("htmx:wsOpen", () => {
  showState("open", "Connected");
  const live = Array.from(findAll("[data-live]"), (element) => element.dataset.live);
  send({ verb: "resume", head: lastExchange()?.dataset.exchange, live });
});

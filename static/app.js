// What a chat page cannot do in HTML.
const { find: $, findAll: all, on } = htmx;
const chat = $("#chat").dataset, scroll = $("#scroll"), flash = $("#flash"), form = $("#composer");
const { question: field, edits, client_message_id: id } = form.elements;
const touch = matchMedia("(pointer: coarse)").matches;
const running = () => $("[data-running=yes]");
const last = () => $(".exchange:last-child");

// It comes back, unless the code says why not.
let socket, heard;
const isOpen = () => socket?.readyState === 1;
const send = (values) => isOpen() && socket.send(JSON.stringify(values));
const show = (state, textContent) => {
  Object.assign($("#connection"), { textContent }).dataset.state = state;
};
htmx.config.wsReconnectDelay = (tries) => Math.min(4e3, 500 * 2 ** tries) * Math.random();
htmx.createWebSocket = (url) => {
  const made = socket = new WebSocket(url);
  heard = Date.now();
  made.addEventListener("close", (event) => {
    if (made !== socket) return event.stopImmediatePropagation(); // given up
    socket = null;
    const why = $("#connection").dataset[event.code];
    show(why ? "over" : "closed", why || (navigator.onLine ? "Reconnecting" : "Offline"));
    if (!why) Object.defineProperty(event, "code", { value: 1006 }); // htmx comes back
  });
  return made;
};
const giveUp = (_, dead = socket) => { dead?.dispatchEvent(new CloseEvent("close")); dead?.close(); };
on(window, "offline", giveUp);
on("htmx:wsOpen", () => {
  show("open", "Connected");
  const live = Array.from(all("[data-live]"), (e) => e.dataset.live);
  send({ verb: "resume", head: last()?.dataset.exchange, live });
  if (waiting) send(waiting);
});
setInterval(() => {
  if (Date.now() - heard > 5e4) giveUp(); // it speaks each 20 s
  const now = +chat.now + performance.now() / 1000;
  for (const e of all("[data-since]")) e.textContent = `${Math.max(0, now - e.dataset.since | 0)} s`;
}, 1000);

// Cleared once the server has the question.
let waiting, stopping, turned;
const save = () => {
  if (!edits.value) localStorage[chat.draft] = field.value;
  // One id per text: sent again, it is one question.
  id.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
};
const write = (text) => { field.value = text; save(); };
const edit = (exchange) => {
  edits.value = exchange?.dataset.exchange || "";
  write(exchange ? $(exchange, ".question-text").textContent : localStorage.getItem(chat.draft));
};
on(field, "input", save);
on("htmx:wsConfigSend", (event) => {
  const values = event.detail.parameters, { verb } = values, refuse = () => event.preventDefault();
  $(":popover-open")?.hidePopover();
  if (verb === "stop") {
    if (Date.now() - turned < 30) return refuse(); // Send, pressed twice
    event.detail.parameters = { verb }; // without the fields
    event.target.textContent = "Stopping";
    stopping = Date.now();
  }
  if (verb !== "submit") return;
  if (!values.question.trim()) return refuse();
  waiting = values;
  if (isOpen()) return;
  flash.textContent = flash.dataset[$("#connection").dataset.state];
  refuse();
});

// Follow the text until the reader leaves it.
let follows = !location.hash && !$("#empty"), top = 0;
const gap = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight;
const follow = () => {
  if (follows) scroll.scrollTop = scroll.scrollHeight;
  top = scroll.scrollTop;
  $("#latest").hidden = gap() < 64 || !last();
};
on(scroll, "scroll", () => {
  const isUp = scroll.scrollTop < top;
  if (isUp ? gap() > 1 : gap() < 64) follows = !isUp;
  follow();
});
on("#latest", "click", () => { follows = true; follow(); touch || field.focus(); });
new ResizeObserver(follow).observe(scroll);

// Frames: what is open stays open, focus stays, nothing comes twice.
let focused;
on("htmx:wsBeforeMessage", (event) => {
  heard = Date.now();
  if (gap() >= 64) follows = false;
  const [, at, keep, more] = /^\+(\d+)(?:\.(\d+))? (.*)/s.exec(event.detail.message) || [];
  if (!at) return;
  event.preventDefault(); // the open block grew
  let end = $("[id$=-tail]");
  if (keep) {
    for (let depth = at; depth--;) end = end.lastElementChild;
    while (end.lastChild !== (end.children[keep - 1] ?? null)) end.lastChild.remove();
    end.insertAdjacentHTML("beforeend", more);
  } else {
    end = document.evaluate("(.//text()[normalize-space()])[last()]", end, null, 9).singleNodeValue;
    if (end.length === +at) end.appendData(more);
  }
  follow();
});
on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  const isRead = target.matches(".tools:has([open])");
  if (isRead || target.isEqualNode(fragment.firstChild)) return event.preventDefault();
  if (target.matches(":focus-within")) focused = document.activeElement.closest("[id]").id;
  if (target === flash) waiting = null; // refused
  for (const e of all(target.parentNode, "details[id][open]:not([data-busy])")) {
    $(fragment, "#" + e.id)?.setAttribute("open", "");
  }
  for (const e of [...fragment.children]) {
    const known = e.id && e.id !== target.id && $("#" + e.id);
    if (known) known.replaceWith(e), htmx.process(e);
  }
});
on("htmx:wsAfterMessage", () => {
  for (const e of focused ? [$("#" + focused), $(`#${focused} > *`), field] : []) {
    if (!$(":focus")) e?.focus({ preventScroll: true });
  }
  focused = "";
  follow();
});
const arrived = {
  ack({ message, url }) {
    if (message === id.value) edits.value ? edit() : write("");
    waiting = null;
    flash.textContent = "";
    chat.draft = chat.conversation;
    $("#empty")?.remove();
    history.replaceState(0, "", url);
    if (!touch && form.matches(":focus-within")) field.focus();
    follows = true;
  },
  beat({ frames }) { send({ verb: "ack", frames }); },
  controls() {
    turned = Date.now();
    $("#thread").ariaBusy = !!running();
    if (running()) return;
    $("#flash .going")?.remove();
    if (stopping) $("#announce").textContent = `Stopped after ${(turned - stopping) / 1000} s`;
    if (document.hidden) document.title = "● " + document.title;
    stopping = 0;
  },
  title() { document.title = $("#title").textContent + " · Oracle"; },
};
htmx.onLoad((root) => {
  arrived[root.id]?.(root.dataset);
  for (const e of all(root, ".code-head")) e.append($("#copy-code").content.cloneNode(true));
});
on(document, "visibilitychange", arrived.title);

const copy = (from) => {
  const selection = getSelection();
  selection.selectAllChildren(from);
  let block = from.closest(".block"); // long code is in pieces
  while ((block = block?.nextElementSibling) && $(block, ".code.more")) selection.extend(block, 1);
  scroll.classList.add("copying");
  document.execCommand("copy"); // others need https
  scroll.classList.remove("copying");
  selection.empty();
  $("#announce").textContent = "Copied";
};
on("click", ({ target }) => {
  const hit = target.closest("[data-edit], [data-prompt], [data-copy], .code button, #cancel-edit");
  if (!hit) return;
  const { copy: answer, prompt } = hit.dataset, code = hit.closest(".code");
  if (answer || code) return copy(code || $(`#${answer}-parts`));
  if (prompt) write(prompt);
  else edit(hit.closest(".exchange"));
  field.focus();
});
on("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  const { key } = event, mod = event.ctrlKey || event.metaKey, types = event.target === field;
  if (types && key === "Enter" && (mod || !event.shiftKey && !touch)) form.requestSubmit();
  else if (types && key === "ArrowUp" && !field.value && last()) edit(last());
  else if (key === "Escape" && (edits.value || running()) && !$(":popover-open, :modal")) {
    turned = 0, $(edits.value ? "#cancel-edit" : "#controls > *").click();
  } else if (mod && key === "k") {
    $("#search").checkVisibility() || $("#sidebar").showPopover();
    $("#search").focus();
  } else if (mod && key === "O") $("#new-chat").click();
  else if (mod && key === "/") $("#help").showModal();
  else return;
  event.preventDefault();
});
edit();

// The little that a chat page cannot do without script. Everything else is HTML from the server.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const chat = $("#chat");
  if (!chat) return;
  const composer = $("#composer"), question = $("#question"), scroll = $("#scroll");
  const latest = $("#latest"), connection = $("#connection"), flash = () => $("#flash");
  const draftKey = () => "draft:" + (location.pathname === "/new/" ? "new" : chat.dataset.conversation);
  const title = document.title;
  let socket = null, wasRunning = false, waiting = null, heard = Date.now();

  // -- connection: 4401, 4403 and 4429 are final, everything else comes back ------------------------
  const final = { 4401: "Signed out", 4403: "Not yours", 4429: "Too many messages" };
  htmx.config.wsReconnectDelay = (tries) => Math.min(8000, 300 * 2 ** tries) * (0.5 + Math.random() / 2);
  const say = (state, words) => { connection.dataset.state = state; connection.textContent = words; };
  const send = (data) => socket && socket.send(JSON.stringify(data));

  document.addEventListener("htmx:wsConnecting", () => say("connecting", navigator.onLine ? "Reconnecting" : "Offline"));
  document.addEventListener("htmx:wsOpen", (event) => {
    socket = event.detail.socketWrapper;
    heard = Date.now();
    say("open", "Connected");
    const shown = document.querySelectorAll("[data-exchange]");
    const resume = {
      verb: "resume",
      head: shown.length ? shown[shown.length - 1].dataset.exchange : "",
      live: [...document.querySelectorAll("[data-live]")].map((e) => e.dataset.live),
    };
    // Before what was queued while offline: the page must know where it is.
    socket.sendImmediately(JSON.stringify(resume));
  });
  document.addEventListener("htmx:wsClose", (event) => {
    const code = event.detail.event.code;
    if (final[code]) return say("closed", final[code]);
    say("closed", navigator.onLine ? "Reconnecting" : "Offline");
    if (code >= 4000) setTimeout(() => socket.reconnect(), 1000 + 2000 * Math.random());
  });
  document.addEventListener("htmx:wsBeforeMessage", () => { heard = Date.now(); });
  // The server is heard every 20 s; a socket that died in the laptop's sleep is not.
  setInterval(() => {
    if (socket && connection.dataset.state === "open" && Date.now() - heard > 50000) {
      heard = Date.now();
      socket.reconnect();
    }
    const now = Date.now() / 1000;
    for (const e of document.querySelectorAll("[data-since]")) {
      e.textContent = Math.max(0, Math.round(now - e.dataset.since)) + " s";
    }
  }, 1000);

  // -- composer -----------------------------------------------------------------------------------
  question.value = localStorage.getItem(draftKey()) || question.value;
  const grow = () => { question.style.height = "auto"; question.style.height = question.scrollHeight + "px"; };
  question.addEventListener("input", () => { localStorage.setItem(draftKey(), question.value); grow(); });
  const running = () => $("#controls").dataset.running === "yes";

  question.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (!running()) composer.requestSubmit();
    } else if (event.key === "ArrowUp" && !question.value) {
      const edits = document.querySelectorAll("[data-edit]");
      if (edits.length) { event.preventDefault(); edit(edits[edits.length - 1]); }
    }
  });
  // One id per message: what is sent twice, or again after a reconnect, is one question.
  document.addEventListener("htmx:wsConfigSend", (event) => {
    const values = event.detail.parameters;
    if (["regenerate", "continue"].includes(values.verb)) values.client_message_id = crypto.randomUUID();
    if (values.verb === "stop") event.target.textContent = "Stopping";
    if (values.verb !== "submit") return;
    if (!values.question.trim() || running()) return event.preventDefault();
    if (!waiting || waiting.text !== values.question) waiting = { id: crypto.randomUUID(), text: values.question };
    values.client_message_id = waiting.id;
    flash().textContent = connection.dataset.state === "open" ? "" : "Offline. It is sent when the connection is back.";
  });
  const acknowledged = (ack) => {
    if (!waiting || ack.dataset.message !== waiting.id) return;
    localStorage.removeItem(draftKey());
    if (question.value === waiting.text) question.value = "";
    waiting = null;
    stopEditing();
    grow();
    const empty = $("#empty");
    if (empty) empty.remove();
    if (location.pathname !== ack.dataset.url) history.replaceState(null, "", ack.dataset.url);
    stick = true;
  };
  const edit = (button) => {
    composer.elements.edits.value = button.dataset.edit;
    question.value = $(".question-text", button.closest(".question")).textContent;
    $("#editing").hidden = false;
    grow();
    question.focus();
  };
  const stopEditing = () => { composer.elements.edits.value = ""; $("#editing").hidden = true; };

  // -- following the text, unless the reader has gone elsewhere -------------------------------------
  let stick = true;
  const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 64;
  const toEnd = () => { scroll.scrollTop = scroll.scrollHeight; };
  const release = () => { stick = atEnd(); latest.hidden = stick; };
  scroll.addEventListener("wheel", (event) => { if (event.deltaY < 0) stick = false; }, { passive: true });
  scroll.addEventListener("touchmove", () => { stick = false; }, { passive: true });
  scroll.addEventListener("scroll", release, { passive: true });
  latest.addEventListener("click", () => { stick = true; toEnd(); });

  // -- frames -------------------------------------------------------------------------------------
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    // The same block twice is one block.
    for (const e of [...event.detail.fragment.children]) {
      if (e.id && e.id !== event.detail.target.id && document.getElementById(e.id)) {
        document.getElementById(e.id).replaceWith(e);
      }
    }
  });
  document.addEventListener("htmx:wsAfterMessage", () => {
    if (stick) toEnd();
    latest.hidden = stick || atEnd();
    acknowledged($("#ack"));
    const frames = +$("#beat").dataset.frames;
    if (frames !== acked) { acked = frames; send({ verb: "ack", frames }); }
    const now = running();
    if (now !== wasRunning) {
      wasRunning = now;
      $("#thread").setAttribute("aria-busy", now);
      htmx.trigger("#conversations", "refresh");
      if (!now && document.hidden) document.title = "● " + title;
      if (!now && document.activeElement === document.body) question.focus();
    }
  });
  let acked = 0;
  document.addEventListener("visibilitychange", () => { if (!document.hidden) document.title = title; });

  // -- clicks and keys ----------------------------------------------------------------------------
  document.addEventListener("click", (event) => {
    const hit = event.target.closest("[data-edit],[data-prompt],[data-copy],.code-head,#cancel-edit");
    if (!hit) return;
    if (hit.dataset.edit) edit(hit);
    else if (hit.dataset.prompt) { question.value = hit.dataset.prompt; grow(); question.focus(); }
    else if (hit.id === "cancel-edit") { stopEditing(); question.value = ""; grow(); }
    else {
      const from = hit.dataset.copy ? $("#" + hit.dataset.copy + "-parts") : $("pre", hit.parentElement);
      navigator.clipboard.writeText(from.innerText).then(() => { $("#announce").textContent = "Copied"; });
    }
  });
  document.addEventListener("keydown", (event) => {
    const mod = event.ctrlKey || event.metaKey;
    if (event.key === "Escape" && running() && !event.isComposing) $("#controls button").click();
    else if (mod && event.key === "k") { event.preventDefault(); $("#search").focus(); }
    else if (mod && event.shiftKey && event.key.toLowerCase() === "o") { event.preventDefault(); $("#new-chat").click(); }
    else if (mod && event.key === "/") { event.preventDefault(); $("#help").showModal(); }
  });
  grow();
  toEnd();
  wasRunning = running();
})();

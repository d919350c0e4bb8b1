// Uploads of notes: many files a few at a time, large ones in pieces, with progress.
import { byId, dropRoot, files, folder, form, isHidden, MAX_BATCH_BYTES, onDropped, post, say, sendPieces } from "./upload_files.js";

const MAX_BATCH_FILES = 50;

const sendBatch = (pairs) => post(form.action || location.href, [
  ["paths", JSON.stringify(pairs.map(([path]) => path))],
  ...pairs.map(([, file]) => ["files", file]),
]);

const cut = (pairs) => {
  const batches = [];
  let bytes = Infinity;
  for (const pair of pairs) {
    if (bytes + pair[1].size > MAX_BATCH_BYTES || batches.at(-1).length >= MAX_BATCH_FILES) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1).push(pair);
    bytes += pair[1].size;
  }
  return batches;
};

// -- progress and report

const NOTHING = { created: 0, updated: 0, unchanged: 0, attachments: 0, threads: 0, conflicts: [], kept_as_files: [], skipped: [] };
let total;
const add = (report) => {
  for (const key in total) total[key] = Array.isArray(total[key]) ? total[key].concat(report[key]) : total[key] + report[key];
};

const element = (name, textContent, ...children) => {
  const made = Object.assign(document.createElement(name), { textContent });
  made.append(...children);
  return made;
};
const list = (title, items) => items.length
  ? [element("h2", title), element("ul", "", ...items.map((item) => element("li", item.why ? `${item.path}: ${item.why}` : item)))]
  : [];

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

const showReport = (problem) => {
  const { created, updated, attachments, threads, unchanged } = total;
  const card = element("section", "", element("p", "", element("strong",
    `${count(created, "new note")}, ${updated} changed, ${count(attachments, "other file")}, ${threads ? `${count(threads, "file")} of threads, ` : ""}${unchanged} unchanged.`)));
  card.className = "card";
  if (problem) card.prepend(Object.assign(element("p", problem), { className: "notice error" }));
  card.append(...list("Changed here and there: these copies were made", total.conflicts),
    ...list("Kept as files", total.kept_as_files), ...list("Left out", total.skipped));
  byId("report").replaceChildren(card);
  if (created || attachments || threads) byId("no-notes")?.remove();
};

const upload = async (pairs) => {
  const shown = pairs.filter(([path]) => !isHidden(path)), all = shown.reduce((sum, [, file]) => sum + file.size, 0);
  let sent = 0, done = 0;
  const show = (words) => say(words, all ? sent / all : 1);
  const onSent = (bytes) => { sent += bytes; show(`${done} of ${count(shown.length, "file")}`); };
  total = { ...NOTHING };
  form.inert = true;
  try {
    for (const batch of cut(shown)) {
      const isLarge = batch[0][1].size > MAX_BATCH_BYTES;
      const isZip = batch.some(([path]) => path.toLowerCase().endsWith(".zip"));
      show(isZip ? "Uploading and unpacking" : `${done} of ${count(shown.length, "file")}`);
      add(isLarge ? await sendPieces(batch[0], onSent) : await sendBatch(batch));
      done += batch.length;
      if (!isLarge) onSent(batch.reduce((sum, [, file]) => sum + file.size, 0));
    }
    show(`Done: ${count(done, "file")}`);
    showReport();
  } catch (error) {
    show(`Stopped after ${done} of ${count(shown.length, "file")}`);
    showReport(`${error.message} What was uploaded before is in; upload the rest again.`);
  }
  form.inert = false;
  form.reset();
};

files.addEventListener("change", () => upload([...files.files].map((file) => [file.name, file])));
folder.addEventListener("change", () => upload(dropRoot([...folder.files].map((file) => [file.webkitRelativePath, file]))));
onDropped(upload);

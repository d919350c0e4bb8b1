// Uploads of the library: many files a few at a time, large ones in pieces, with progress.

const byId = (id) => document.getElementById(id);
const form = byId("upload"), drop = byId("drop"), files = byId("files"), folder = byId("folder");
const MAX_BATCH_BYTES = 700_000; // the server takes no request of more than 1 MB
const MAX_BATCH_FILES = 50;

// -- what was chosen: [path, file] pairs. One folder that was chosen is the root.

const isHidden = (path) => path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");

const readEntries = async (entry, prefix = "") => {
  if (entry.isFile) {
    return [[prefix + entry.name, await new Promise((done, fail) => entry.file(done, fail))]];
  }
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    for (const child of some) {
      if (!isHidden(child.name)) found.push(...await readEntries(child, `${prefix}${entry.name}/`));
    }
  }
};

const dropRoot = (pairs) => {
  const root = pairs[0]?.[0].split("/")[0] + "/";
  const isOne = pairs.every(([path]) => path.startsWith(root));
  return isOne ? pairs.map(([path, file]) => [path.slice(root.length), file]) : pairs;
};

const readDropped = async (transfer) => {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const pairs = (await Promise.all(entries.map((entry) => readEntries(entry)))).flat();
  return entries.length === 1 && entries[0].isDirectory ? dropRoot(pairs) : pairs;
};

// -- sending

const post = async (url, values) => {
  const body = new FormData(form);
  body.delete("files");
  for (const [name, value] of values) body.append(name, value);
  const response = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
  const isJson = response.headers.get("Content-Type")?.includes("json");
  const answer = isJson ? await response.json() : { error: `The server answered ${response.status}.` };
  if (!response.ok) throw new Error(answer.error);
  return answer;
};

const sendBatch = (pairs) => post(form.action || location.href, [
  ["paths", JSON.stringify(pairs.map(([path]) => path))],
  ...pairs.map(([, file]) => ["files", file]),
]);

const sendPieces = async ([path, file], onSent) => {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");
  let offset = 0, answer;
  do {
    const piece = file.slice(offset, offset + MAX_BATCH_BYTES), next = offset + piece.size;
    const last = next >= file.size ? "yes" : "no";
    answer = await post(form.dataset.pieceUrl, Object.entries({ id, offset, path, last, piece }));
    onSent(piece.size);
    offset = next;
  } while (offset < file.size);
  return answer;
};

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

const total = { created: 0, updated: 0, unchanged: 0, attachments: 0, conflicts: [], kept_as_files: [], skipped: [] };
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

const showReport = (problem) => {
  const { created, updated, attachments, unchanged } = total;
  const card = element("section", "", element("p", "", element("strong",
    `${created} new notes, ${updated} changed, ${attachments} other files, ${unchanged} as they were.`)));
  card.className = "card";
  if (problem) card.prepend(Object.assign(element("p", problem), { className: "notice error" }));
  card.append(...list("Changed here and there: these copies were made", total.conflicts),
    ...list("Kept as files", total.kept_as_files), ...list("Left out", total.skipped));
  byId("report").replaceChildren(card);
};

const upload = async (pairs) => {
  const shown = pairs.filter(([path]) => !isHidden(path)), all = shown.reduce((sum, [, file]) => sum + file.size, 0);
  let sent = 0, done = 0;
  const say = (words) => {
    byId("progress-text").textContent = words;
    byId("progress-bar").value = all ? sent / all : 1;
  };
  const onSent = (bytes) => { sent += bytes; say(`${done} of ${shown.length} files`); };
  byId("progress").hidden = false;
  form.inert = true;
  try {
    for (const batch of cut(shown)) {
      const isLarge = batch[0][1].size > MAX_BATCH_BYTES;
      const isZip = batch.some(([path]) => path.toLowerCase().endsWith(".zip"));
      say(isZip ? "Uploading and unpacking" : `${done} of ${shown.length} files`);
      add(isLarge ? await sendPieces(batch[0], onSent) : await sendBatch(batch));
      done += batch.length;
      if (!isLarge) onSent(batch.reduce((sum, [, file]) => sum + file.size, 0));
    }
    say(`Done: ${done} file${done === 1 ? "" : "s"}`);
    showReport();
  } catch (error) {
    say(`Stopped after ${done} of ${shown.length} files`);
    showReport(`${error.message} What was uploaded before is in; upload the rest again.`);
  }
  form.inert = false;
  form.reset();
};

files.addEventListener("change", () => upload([...files.files].map((file) => [file.name, file])));
folder.addEventListener("change", () => upload(dropRoot([...folder.files].map((file) => [file.webkitRelativePath, file]))));
byId("folder-choice").hidden = false;
for (const name of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
  });
}
drop.addEventListener("drop", async (event) => upload(await readDropped(event.dataTransfer)));

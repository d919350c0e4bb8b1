// What both uploads of the library share: what was chosen or dropped, and sending it in pieces.

export const byId = (id) => document.getElementById(id);
export const form = byId("upload"), files = byId("files"), folder = byId("folder");
export const MAX_BATCH_BYTES = 700_000; // the server takes no request of more than 1 MB

// -- what was chosen: [path, file] pairs. One folder that was chosen is the root.

export const isHidden = (path) => path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");

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

export const dropRoot = (pairs) => {
  const root = pairs[0]?.[0].split("/")[0] + "/";
  const isOne = pairs.every(([path]) => path.startsWith(root));
  return isOne ? pairs.map(([path, file]) => [path.slice(root.length), file]) : pairs;
};

// Wherever on the page: the browser would leave it for a file that is dropped beside the place.
export const onDropped = (use) => document.addEventListener("drop", async ({ dataTransfer }) => {
  const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (form.inert || !entries.length) return;
  const pairs = (await Promise.all(entries.map((entry) => readEntries(entry)))).flat();
  use(entries.length === 1 && entries[0].isDirectory ? dropRoot(pairs) : pairs, entries[0].name);
});

// -- sending

export const post = async (url, values) => {
  const body = new FormData(form);
  body.delete("files");
  for (const [name, value] of values) body.append(name, value);
  const response = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
  const isJson = response.headers.get("Content-Type")?.includes("json");
  const answer = isJson ? await response.json() : { error: `The server answered ${response.status}.` };
  if (!response.ok) throw new Error(answer.error);
  return answer;
};

export const makeId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

export const sendPieces = async ([path, file], onSent, id = makeId(), onLast) => {
  let offset = 0, answer;
  do {
    const piece = file.slice(offset, offset + MAX_BATCH_BYTES), next = offset + piece.size;
    const last = next >= file.size ? "yes" : "no";
    if (last === "yes") onLast?.();
    answer = await post(form.dataset.pieceUrl, Object.entries({ id, offset, path, last, piece }));
    onSent(piece.size);
    offset = next;
  } while (offset < file.size);
  return answer;
};

// -- progress

export const say = (words, share) => {
  const folded = form.closest("[hidden]"); // where there are notes, until something is dropped on them
  if (folded) {
    folded.hidden = false;
    folded.scrollIntoView({ block: "nearest" });
  }
  byId("progress").hidden = false;
  byId("progress-text").textContent = words;
  if (share === undefined) byId("progress-bar").removeAttribute("value");
  else byId("progress-bar").value = share;
};

byId("folder-choice").hidden = false;

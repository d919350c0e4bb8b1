// Uploads of code: a zip, or a folder that is put into one here, so that the server gets all of it.
import { byId, dropRoot, files, folder, form, isHidden, makeId, onDropped, say, sendPieces } from "./upload_files.js";

const MAX_FILES = 65_535; // of a zip without extensions
const POLL_MS = 1000;
const FOREIGN = new Set(["node_modules", "__pycache__", "venv"]);

// -- a zip, stored: its files stay where they are until they are sent

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
const checksum = (bytes) => {
  let sum = ~0;
  for (const byte of bytes) sum = table[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
};

// Each number with its size in bytes.
const pack = (...numbers) => {
  const made = new DataView(new ArrayBuffer(numbers.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of numbers) {
    if (size === 2) made.setUint16(at, value, true);
    else made.setUint32(at, value, true);
    at += size;
  }
  return made.buffer;
};

const makeZip = async (pairs) => {
  const parts = [], entries = [];
  let offset = 0, done = 0;
  for (const [path, file] of pairs) {
    const name = new TextEncoder().encode(path);
    const sum = checksum(new Uint8Array(await file.arrayBuffer()));
    // version, names in UTF-8, stored, the first day of zips
    const shared = [[20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [sum, 4], [file.size, 4], [file.size, 4], [name.length, 2], [0, 2]];
    parts.push(pack([0x04034b50, 4], ...shared), name, file);
    entries.push(pack([0x02014b50, 4], [20, 2], ...shared, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]), name);
    offset += 30 + name.length + file.size;
    if (++done % 50 === 0) say(`Looking at the files: ${done} of ${pairs.length}`, done / pairs.length);
  }
  const size = entries.reduce((sum, part) => sum + part.byteLength, 0);
  const end = pack([0x06054b50, 4], [0, 2], [0, 2], [done, 2], [done, 2], [size, 4], [offset, 4], [0, 2]);
  return new Blob([...parts, ...entries, end]);
};

// -- sending it, and watching how it is read

const isForeign = (path) => isHidden(path) || path.split("/").some((part) => FOREIGN.has(part));

const watch = (id) => setInterval(async () => {
  const answer = await fetch(`${form.dataset.progressUrl}?id=${id}`).catch(() => undefined);
  if (!answer?.ok) return;
  const { done, total } = await answer.json();
  if (total) say(`Reading the files: ${done} of ${total}`, done / total);
}, POLL_MS);

const send = async (name, zip) => {
  const id = makeId();
  let sent = 0, watching;
  try {
    const answer = await sendPieces([name, zip], (bytes) => {
      sent += bytes;
      say(`Uploading: ${Math.round((100 * sent) / zip.size)} %`, sent / zip.size);
    }, id, () => {
      say("Reading the files");
      watching = watch(id);
    });
    location.assign(answer.report);
  } finally {
    clearInterval(watching);
  }
};

const upload = async (name, pairs) => {
  form.inert = true;
  try {
    const own = pairs.filter(([path]) => !isForeign(path));
    const isZip = own.length === 1 && own[0][0].toLowerCase().endsWith(".zip");
    if (!own.length) throw new Error("There are no files in it.");
    if (own.length > MAX_FILES) throw new Error(`These are more than ${MAX_FILES} files. Put them into a zip first.`);
    await send(isZip ? own[0][0] : `${name || "code"}.zip`, isZip ? own[0][1] : await makeZip(own));
  } catch (error) {
    byId("report").replaceChildren(Object.assign(document.createElement("p"), { className: "notice error", textContent: error.message }));
    say("Not finished. What was read before is kept.", 0);
    form.inert = false;
    form.reset();
  }
};

files.addEventListener("change", () => upload("", [...files.files].map((file) => [file.name, file])));
folder.addEventListener("change", () => {
  const pairs = [...folder.files].map((file) => [file.webkitRelativePath, file]);
  upload(pairs[0]?.[0].split("/")[0], dropRoot(pairs));
});
onDropped((pairs, name) => upload(name, pairs));

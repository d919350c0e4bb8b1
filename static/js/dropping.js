// A file that is dropped on a page of the library is uploaded or refused, never opened in its place.
const canUpload = document.getElementById("upload") !== null;

for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return; // words can be dragged into a field
    event.preventDefault();
    if (canUpload) document.body.classList.toggle("dropping", name === "dragover");
    else event.dataTransfer.dropEffect = "none";
  });
}

// What takes a while says so: an element with data-progress="Looking…" shows these words where its answer will come, and is
// not asked twice meanwhile. An answer that does not come leaves what was there.
"use strict";

{
  const before = new Map(); // source → what its target held
  document.addEventListener("htmx:before:request", (event) => {
    const { sourceElement: source, target } = event.detail.ctx;
    if (!source?.dataset.progress || !target || event.defaultPrevented) return;
    if (source.matches("button")) source.disabled = true;
    before.set(source, [...target.childNodes]);
    const words = document.createElement("p");
    words.className = "muted";
    words.setAttribute("aria-busy", "true");
    words.textContent = source.dataset.progress;
    target.replaceChildren(words);
  });
  document.addEventListener("htmx:finally:request", (event) => {
    const { sourceElement: source, target, status } = event.detail.ctx;
    if (!before.has(source)) return;
    if (source.matches("button")) source.disabled = false;
    if (status !== "swapped" || target.querySelector(":scope > [aria-busy]")) target.replaceChildren(...before.get(source));
    before.delete(source);
  });
}

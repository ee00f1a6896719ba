// Make and end what lets others in. The secret of a token is put on the page, and kept nowhere.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("make-token");
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    form.querySelector(".trouble")?.remove();
    try {
      const made = await horae.send("POST", "/access/tokens", Object.fromEntries(new FormData(form)));
      document.getElementById("made-secret").textContent = made.token;
      document.getElementById("copy-secret").dataset.copy = made.token;
      document.getElementById("made-token").hidden = false;
      form.reset();
      horae.done({ did: made.did, undo: null });
    } catch (refusal) {
      horae.trouble(button, refusal);
    } finally {
      button.disabled = false;
    }
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-end]");
    if (!button) return;
    const { end, title, yes } = button.dataset;
    if ((await horae.ask({ title, explain: "It is refused from now on. This cannot be undone.", yes, danger: true })) === null) return;
    try {
      const answer = await horae.send("POST", "/access/end", { credential: end });
      horae.done({ did: answer.did, undo: null });
    } catch (refusal) {
      horae.trouble(button, refusal);
    }
  });
});

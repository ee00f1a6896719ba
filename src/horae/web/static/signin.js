// Take the key out of the address, send it, and go on. The key is never shown, stored or sent anywhere else.
"use strict";

(async () => {
  const key = location.hash.slice(1);
  const state = document.getElementById("sign-in-state");
  const next = document.querySelector("[data-next]").dataset.next;
  if (!key) return;
  history.replaceState(null, "", location.pathname + location.search);
  for (const name of ["sign-in-how", "sign-in-more"]) document.getElementById(name).hidden = true;
  state.textContent = "One moment: your link is being looked at …";
  let answer;
  try {
    answer = await fetch("/sign-in", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Horae-CSRF": document.querySelector('meta[name="csrf"]').content },
      body: JSON.stringify({ key }),
    });
  } catch {
    state.textContent = "Horae does not answer. See whether it still runs (horae status), then open the link again.";
    return;
  }
  if (answer.ok) {
    location.replace(next);
    return;
  }
  const refusal = await answer.json().catch(() => ({ detail: answer.statusText }));
  state.textContent = `${refusal.detail.charAt(0).toUpperCase()}${refusal.detail.slice(1)}. A new link:`;
  document.getElementById("sign-in-how").hidden = false;
})();

// What every page needs: writes with the session's mark, and news of changes as an event that parts of a page listen to.
"use strict";

const csrf = () => document.querySelector('meta[name="csrf"]').content;

/** Send JSON; returns the answer, or throws the refusal as problem+json. */
async function send(method, url, body) {
  const answer = await fetch(url, {
    method,
    headers: { "Content-Type": "application/json", "X-Horae-CSRF": csrf() },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const json = answer.headers.get("content-type")?.includes("json") ? await answer.json() : null;
  if (!answer.ok) throw json ?? { detail: answer.statusText, hint: null, code: "problem" };
  return json;
}
window.horae = { send };

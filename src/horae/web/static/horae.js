// What every page needs: deeds with their answers, news of changes, times that go on, the keyboard.
//
// A button or form with data-do="pause" and data-args='{"job": "x"}' asks POST /do/pause; fields of a form are added to the
// arguments. data-confirm asks first (data-explain, data-yes, data-danger), data-ask="reason" with it lets one write a line.
// data-then="/jobs" goes there afterwards. What goes wrong is told beside it; what went well in a notice, with Undo where
// there is a way back. One EventSource brings changes: body gets `horae:changed`, and parts of pages ask for themselves anew.
"use strict";

const $ = (query, within = document) => within.querySelector(query);
const csrf = () => $('meta[name="csrf"]').content;
const GONE = { code: "unreachable", detail: "the gateway does not answer", hint: "see whether `horae up` runs, then try again" };

/** Send JSON; returns the answer, or throws the refusal as problem+json. */
async function send(method, url, body) {
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers: { "Content-Type": "application/json", Accept: "application/json", "X-Horae-CSRF": csrf() },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw GONE;
  }
  const json = answer.headers.get("content-type")?.includes("json") ? await answer.json() : null;
  if (!answer.ok) throw json ?? { detail: answer.statusText || "that did not work", hint: null, code: "problem" };
  return json;
}

/** An element with text in it; never with markup. */
function make(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** Text in which commands stand between backticks. */
const worded = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));

// ── notices ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Say something for a while; with Undo where there is a way back. */
function notice(text, { back = null, bad = false, hint = null } = {}) {
  const close = make("button", { type: "button", class: "quiet icon", "aria-label": "Close this notice" }, "×");
  const made = make("div", { class: bad ? "notice bad" : "notice" }, make("p", {}, ...worded(text)));
  if (hint) made.append(make("p", { class: "muted" }, ...worded(hint)));
  close.addEventListener("click", () => made.remove());
  if (back !== null) {
    const undo = make("button", { type: "button", class: "outline small" }, "Undo");
    undo.addEventListener("click", async () => {
      undo.disabled = true;
      try {
        const answer = await send("POST", `/do/${back[0]}`, back[1]);
        made.remove();
        done(answer);
      } catch (refusal) {
        made.remove();
        notice(refusal.detail, { bad: true, hint: refusal.hint });
      }
    });
    made.append(undo);
  }
  made.append(close);
  $("#notices").append(made);
  let left = setTimeout(() => made.remove(), bad || back !== null ? 15000 : 7000);
  made.addEventListener("pointerenter", () => clearTimeout(left));
  made.addEventListener("focusin", () => clearTimeout(left));
  made.addEventListener("pointerleave", () => (left = setTimeout(() => made.remove(), 5000)));
  return made;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** How an answer is taken back: the deed and its arguments; null where there is no way back. */
function wayBack({ entry, undo }) {
  if (undo === null) return null;
  if (entry) return ["undo", { entry }];
  const [, verb, what] = /^horae (undo|pause|resume) (\S+)$/.exec(undo ?? "") ?? [];
  if (!verb) return null;
  return verb === "undo" ? ["undo", { entry: Number(what) }] : [verb, { job: what }];
}

/** Tell what a deed has done, and let the page look again. */
function done(answer) {
  if (!answer) return;
  notice(capital(answer.did ?? "done"), { back: wayBack(answer), hint: (answer.warnings ?? []).join("; ") || null });
  changed([]);
}

/** Tell what was refused, where it was asked for. */
function trouble(near, refusal) {
  const place = near.closest("[data-troubles]") ?? near.closest("form, .actions, li, td, article, section") ?? near.parentElement;
  $(":scope > .trouble", place)?.remove();
  const made = make("p", { class: "trouble", role: "alert" }, make("strong", {}, ...worded(capital(refusal.detail ?? "that did not work"))));
  if (refusal.hint) made.append(" ", ...worded(capital(refusal.hint)));
  place.append(made);
}

// ── asking first ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Ask in a dialog. Returns null for no, else the line that was written ("" where none was asked for). */
function ask({ title, explain = "", yes = "Yes", danger = false, word = null, value = "" }) {
  const dialog = $("#ask");
  $("#ask-title").textContent = title;
  $("#ask-explain").replaceChildren(...worded(explain));
  $("#ask-explain").hidden = !explain;
  $("#ask-yes").textContent = yes;
  $("#ask-yes").classList.toggle("danger", danger);
  $("#ask-label").hidden = word === null;
  $("#ask-word").textContent = word ?? "";
  $("#ask-value").value = value;
  dialog.returnValue = "no";
  dialog.showModal();
  (word === null ? $("#ask-yes") : $("#ask-value")).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? $("#ask-value").value.trim() : null), { once: true });
  });
}
// Enter in the line means yes, not the first button of the dialog.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.id === "ask-value") {
    event.preventDefault();
    $("#ask").close("yes");
  }
});

/** Do what an element asks for. */
async function act(element, submitter) {
  const form = element.matches("form") ? element : null;
  const of = submitter?.dataset.do ? submitter : element;
  const args = JSON.parse(of.dataset.args ?? element.dataset.args ?? "{}");
  if (form) for (const [name, value] of new FormData(form, submitter ?? undefined)) args[name] = value;
  if (of.dataset.confirm) {
    const { confirm: title, explain, yes, ask: name, word, value } = of.dataset;
    const said = await ask({ title, explain, yes, danger: "danger" in of.dataset, word: name ? (word ?? "Why? (may be left empty)") : null, value });
    if (said === null) return;
    if (name) args[name] = said;
  }
  const busy = submitter ?? (form ? $("[type=submit]", form) : element);
  busy?.setAttribute("aria-busy", "true");
  if (busy) busy.disabled = true;
  $(".trouble", element.closest("[data-troubles]") ?? element)?.remove();
  leaving = of.dataset.then !== undefined;
  try {
    const answer = await send("POST", `/do/${of.dataset.do}`, args);
    if (of.dataset.then) {
      carry(answer);
      dirty = false;
      location.assign(of.dataset.then);
      return;
    }
    form?.reset();
    form?.closest("details")?.removeAttribute("open");
    done(answer);
  } catch (refusal) {
    leaving = false;
    if (!("detail" in refusal)) throw refusal;
    trouble(element, refusal);
  } finally {
    busy?.removeAttribute("aria-busy");
    if (busy) busy.disabled = false;
  }
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do], a[data-do]");
  if (!button || button.form?.dataset.do !== undefined) return;
  event.preventDefault();
  act(button);
});
document.addEventListener("submit", (event) => {
  if (event.target.dataset.do === undefined) return;
  event.preventDefault();
  act(event.target, event.submitter);
});

/** Keep an answer for the next page, which tells it. */
function carry(answer) {
  try {
    sessionStorage.setItem("horae-told", JSON.stringify({ did: answer.did, entry: answer.entry ?? null, undo: answer.undo ?? null, warnings: answer.warnings ?? [] }));
  } catch {
    // without storage nothing is told
  }
}
function told() {
  try {
    const answer = sessionStorage.getItem("horae-told");
    sessionStorage.removeItem("horae-told");
    if (answer) done(JSON.parse(answer));
  } catch {
    // nothing to tell
  }
}

// Somebody who has begun to write does not lose it to a reload of ours.
let dirty = false;
document.addEventListener("input", (event) => {
  if (event.target.closest("form[data-keep]")) dirty = true;
});
const clean = () => (dirty = false);
addEventListener("beforeunload", (event) => {
  if (dirty) event.preventDefault();
});

// ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const STEPS = [[86400 * 365, "y"], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
/** Seconds in short: the two largest units. */
function short(seconds) {
  let rest = Math.max(0, Math.floor(seconds));
  const found = [];
  for (const [size, unit] of STEPS) {
    if (rest >= size || (unit === "s" && !found.length)) {
      found.push(`${Math.floor(rest / size)} ${unit}`);
      rest %= size;
    } else if (found.length) break;
    if (found.length === 2) break;
  }
  return found.join(" ");
}
function far(seconds) {
  if (seconds >= 0 && seconds < 1) return "now";
  return seconds > 0 ? `in ${short(seconds)}` : -seconds < 5 ? "just now" : `${short(-seconds)} ago`;
}
let skew = 0; // of this machine's clock against the gateway's
function tell(element, now) {
  const at = Date.parse(element.dateTime);
  if (Number.isNaN(at)) return;
  element.dataset.clock ??= element.textContent;
  const seconds = (at - now) / 1000;
  const how = element.dataset.when;
  const words = { both: () => `${element.dataset.clock} · ${far(seconds)}`, far: () => far(seconds), since: () => short(-seconds) }[how];
  if (!words) return;
  const text = words();
  if (element.textContent !== text) element.textContent = text;
}
function times() {
  if (document.hidden) return;
  const now = Date.now() + skew;
  for (const element of document.querySelectorAll("time[data-when]")) tell(element, now);
}
setInterval(times, 1000);

// ── news ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

let leaving = false; // for another page, since what this one shows is being taken away: it asks for nothing any more
let source = null, tries = 0, retry = null, pending = [], soon = null, lately = -Infinity, lost = null;
const SOON_MS = 300, BETWEEN_MS = 1000; // a burst is one look, and a storm of them one a second

/** Parts of the page look again, a moment later. */
function changed(details) {
  pending.push(...details);
  soon ??= setTimeout(() => {
    const detail = pending;
    pending = [];
    soon = null;
    lately = performance.now();
    if (leaving) return;
    document.body.dispatchEvent(new CustomEvent("horae:changed", { detail, bubbles: true }));
  }, Math.max(SOON_MS, lately + BETWEEN_MS - performance.now()));
}

function listen() {
  clearTimeout(retry);
  if (document.body.dataset.signedIn !== "yes" || source || document.hidden) return;
  source = new EventSource("/api/v1/events");
  source.addEventListener("open", () => {
    tries = 0;
    if (lost !== null) back();
  });
  source.addEventListener("change", (event) => changed([JSON.parse(event.data)]));
  source.addEventListener("error", () => {
    silence();
    retry = setTimeout(listen, Math.min(5000, 1000 * 2 ** Math.min(5, tries++)) * (0.75 + Math.random() / 2));
    if (tries > 1) outage();
  });
}
function silence() {
  source?.close();
  source = null;
}
async function outage() {
  let signedOut = false;
  try {
    const answer = await fetch("/frame", { redirect: "manual" });
    signedOut = answer.type === "opaqueredirect" || answer.status === 401;
  } catch {
    // it does not answer
  }
  lost ??= new Date();
  const banner = $("#outage");
  const at = lost.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const words = signedOut
    ? ["You are signed out. ", make("a", { href: "/sign-in" }, "Sign in again"), "."]
    : [make("strong", {}, "Offline: the gateway does not answer."), ` What you see is from ${at}. This page keeps trying.`];
  if (banner.hidden || banner.dataset.out !== String(signedOut)) banner.replaceChildren(...words);
  banner.dataset.out = String(signedOut);
  banner.hidden = false;
}
/** It answers again: everything that may have changed is asked for anew, without taking away what somebody writes. */
function back() {
  lost = null;
  $("#outage").hidden = true;
  if (dirty || $("dialog[open]") || document.querySelector("form[data-keep]")) changed([]);
  else location.reload();
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    silence();
    clearTimeout(retry);
  } else {
    listen();
    changed([]);
    times();
  }
});
addEventListener("pagehide", silence);
addEventListener("pageshow", (event) => event.persisted && ((leaving = false), listen(), changed([])));

// ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const writes = "input:not([type=search]):not([type=checkbox]), textarea, select";
// A part in which somebody writes is not taken from under their hands: it looks again when they are done.
document.addEventListener("htmx:before:request", (event) => {
  const element = event.target;
  if (event.detail.ctx?.sourceEvent?.type !== "horae:changed") return;
  const at = document.activeElement;
  if (element.contains(at) && at.matches(writes)) {
    event.preventDefault();
    at.addEventListener("blur", () => changed([]), { once: true });
  }
});
document.addEventListener("htmx:after:swap", times);
// An answer is parsed as markup even where nothing of it is put in: a refusal quotes what others wrote, so it never gets there.
document.addEventListener("htmx:after:request", (event) => {
  const ctx = event.detail.ctx;
  if (ctx.response.headers.get("content-type")?.startsWith("text/html")) return;
  try {
    ctx.refusal = JSON.parse(ctx.text);
  } catch {
    // no JSON: said in general
  }
  ctx.text = "";
});
document.addEventListener("htmx:response:error", (event) => {
  const { response, refusal, sourceElement, sourceEvent } = event.detail.ctx;
  if (sourceEvent?.type !== "horae:changed") {
    trouble(sourceElement, refusal ?? { detail: "that did not work", hint: "reload the page and try again" });
  } else if (response.status === 404) {
    if (sourceElement.dataset.whole) gone(sourceElement);
  } // else a part that looks again by itself: the frame tells of outages
});
/** What a part shows has been removed meanwhile. It goes on looking, since a removal can be undone. */
function gone(part) {
  const lead = make("a", { href: part.dataset.whole }, "See what there is");
  part.replaceChildren(make("p", { class: "trouble first", role: "alert" }, "What was shown here is not there any more. ", lead, "."));
}
document.addEventListener("htmx:error", (event) => {
  if (event.detail.ctx && event.detail.ctx.sourceEvent?.type !== "horae:changed" && event.detail.error instanceof TypeError) trouble(event.detail.ctx.sourceElement, GONE);
});

// ── frame ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const THEMES = [["", "◐", "as the system says"], ["light", "☀", "light"], ["dark", "☾", "dark"]];
function showTheme() {
  const now = document.documentElement.dataset.theme ?? "";
  const [, sign, words] = THEMES.find(([name]) => name === now) ?? THEMES[0];
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    button.firstElementChild.textContent = sign;
    button.setAttribute("aria-label", `Colours: ${words}`);
    button.title = `Colours: ${words}`;
  }
}
function nextTheme() {
  const now = document.documentElement.dataset.theme ?? "";
  const [name] = THEMES[(THEMES.findIndex(([each]) => each === now) + 1) % THEMES.length];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  try {
    if (name) localStorage.setItem("horae-theme", name);
    else localStorage.removeItem("horae-theme");
  } catch {
    // it lasts as long as the page
  }
  showTheme();
  document.body.dispatchEvent(new CustomEvent("horae:theme", { bubbles: true }));
}
document.addEventListener("htmx:after:swap", showTheme);
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-theme-switch]")) nextTheme();
  if (event.target.closest("[data-help]")) $("#help").showModal();
  const menu = event.target.closest("[data-menu]");
  if (menu) {
    const open = menu.getAttribute("aria-expanded") !== "true";
    menu.setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("menu-open", open);
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard?.writeText(copy.dataset.copy).then(() => notice("Copied"));
  for (const open of document.querySelectorAll("details.who[open], details.drop[open]")) if (!open.contains(event.target)) open.open = false;
});
document.addEventListener("submit", async (event) => {
  if (event.target.dataset.signOut === undefined) return;
  event.preventDefault();
  try {
    await fetch("/sign-out", { method: "POST", headers: { "X-Horae-CSRF": csrf() } });
  } finally {
    location.assign("/sign-in");
  }
});

// ── keyboard ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const PLACES = { t: "/", c: "/calendar", j: "/jobs", r: "/runs", n: "/trends", h: "/health", o: "/journal" };
let went = -Infinity;
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const open of document.querySelectorAll("details.who[open], details.drop[open]")) {
      open.open = false;
      $("summary", open).focus();
    }
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  if ($("dialog[open]")) return;
  const key = event.key;
  if (event.timeStamp - went < 1500 && PLACES[key]) location.assign(PLACES[key]);
  else if (key === "?") $("#help").showModal();
  else if (key === "n" && document.body.dataset.makes === "yes") location.assign("/jobs/new");
  else if (key === "/") {
    event.preventDefault();
    const search = $("input[type=search]");
    if (search) search.focus();
    else location.assign("/jobs#search");
  }
  went = key === "g" ? event.timeStamp : -Infinity;
});

window.horae = { send, make, worded, notice, done, trouble, ask, act, carry, changed, clean, short, far, times };
function begin() {
  times();
  showTheme();
  told();
  listen();
  if (location.hash === "#search") $("input[type=search]")?.focus();
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();

// The calendar: what /calendar/events tells, drawn by event-calendar. It is handed wall times of the home's zone and set to
// that zone's offset of now, so that "today" and the line of now are the home's, wherever the browser is.
//
// A slot is moved by dragging it, or in its dialog, which does by keyboard all that the mouse can. What is refused puts a
// dragged slot back and is told. View, day and filters are kept in the address.
"use strict";
(() => {
  const { send, make, notice, done, trouble } = window.horae;
  const byId = (id) => document.getElementById(id);
  const place = byId("calendar");
  const offset = (/(?:Z|([+-]\d\d:\d\d))$/.exec(place.dataset.now) ?? [])[1] ?? "+00:00";
  const editable = place.dataset.edit === "yes";
  const VIEWS = { month: "dayGridMonth", week: "timeGridWeek", day: "timeGridDay", agenda: "listWeek", list: "listDay" };
  const MEANS = { planned: "is still to come", waiting: "is due and waits for its turn", moved: "will run at another time", excluded: "an exclusion calendar leaves it out" };
  const today = place.dataset.now.slice(0, 10);

  const asked = new URLSearchParams(location.search);
  const state = {
    view: VIEWS[asked.get("view")] ? asked.get("view") : innerWidth < 640 ? "agenda" : "month",
    date: /^\d{4}-\d\d-\d\d$/.test(asked.get("date") ?? "") ? asked.get("date") : today,
    job: asked.get("job") ?? "",
    outcome: asked.get("outcome") ?? "",
  };

  // ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────

  /** The day of a date of the library, whose dates say wall times in the browser's own zone, whatever zone is meant. */
  const dayOf = (date) => [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
  /** A wall time, later by what it was dragged: reckoned without any zone, so that no clock change of the browser's counts. */
  const shifted = (text, { days = 0, seconds = 0 }) => new Date(Date.parse(`${text.slice(0, 19)}Z`) + days * 86400000 + seconds * 1000).toISOString().slice(0, 19);
  const clockOf = (text) => text.slice(11, 16);
  const dayWords = (text) => new Date(`${text.slice(0, 10)}T12:00:00Z`).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  const many = (count, word) => `${count.toLocaleString("en-GB")} ${word}${count === 1 ? "" : "s"}`;
  const isolated = (text) => make("bdi", {}, text ?? "");

  let told = null;
  async function fetched(info, success, failure) {
    const query = new URLSearchParams({ start: info.startStr.slice(0, 10), end: info.endStr.slice(0, 10), view: state.view });
    if (state.job) query.set("job", state.job);
    if (state.outcome) query.set("outcome", state.outcome);
    try {
      told = await send("GET", `/calendar/events?${query}`);
      tell();
      success(told.events);
    } catch (refusal) {
      if (!("detail" in refusal)) throw refusal;
      const again = make("button", { type: "button", class: "outline small" }, "Try again");
      again.addEventListener("click", () => calendar.refetchEvents());
      const words = make("p", { class: "trouble", role: "alert" }, make("strong", {}, `The calendar could not be read: ${refusal.detail}. `), refusal.hint ?? "", " ", again);
      byId("calendar-told").replaceChildren(words);
      failure(refusal);
    }
  }
  function tell() {
    const lines = told.told.map((line) => make("p", { class: "note" }, line.charAt(0).toUpperCase() + line.slice(1)));
    if (!told.count) {
      const filtered = state.job || state.outcome;
      const way = filtered ? "Other filters or other days may show more." : "Jobs and their slots appear here as soon as there are some.";
      lines.unshift(make("p", { class: "note nothing" }, make("strong", {}, "Nothing in these days. "), way));
    }
    byId("calendar-told").replaceChildren(...lines);
  }

  function content({ event, view }) {
    const of = event.extendedProps;
    const list = view.type.startsWith("list");
    const sign = make("span", { class: "sign", "aria-hidden": "true" }, of.sign);
    const body = make("button", { type: "button", class: `slot w-${of.word}${of.kind === "past" ? " past" : ""}`, "data-id": event.id });
    if (of.kind === "clock") {
      body.append(sign, make("span", { class: "hidden" }, "Clock change: "), make("span", { class: "name" }, isolated(of.name)));
    } else if (of.kind === "sum") {
      const parts = of.by.map((one) => `${one.count.toLocaleString("en-GB")} ${one.word}`);
      const name = of.job ? isolated(of.name) : `${of.jobs} more jobs`;
      body.append(sign, make("span", { class: "count", "aria-hidden": "true" }, `${of.count.toLocaleString("en-GB")}×`), make("span", { class: "name" }, name), make("span", { class: list ? "muted" : "hidden" }, `${list ? "" : ": "}${parts.join(", ")}${list ? ` · ${clockOf(of.first)} to ${clockOf(of.last)}` : ""}`));
      body.title = parts.join(", ");
    } else {
      const at = make("span", { class: "at" }, clockOf(of.due));
      body.append(...(list ? [at, sign] : [sign, at]), make("span", { class: "hidden" }, `, ${of.word}: `), make("span", { class: "name" }, isolated(of.name)));
      if (list) body.append(make("span", { class: "word", "aria-hidden": "true" }, of.word), make("span", { class: "muted clip" }, isolated(of.word === "completed" ? "" : of.kind === "past" ? of.reason : of.note)));
      body.title = `${clockOf(of.due)} ${of.name}: ${of.word}`;
    }
    return { domNodes: [body] };
  }

  // ── the dialog of a slot ─────────────────────────────────────────────────────────────────────────────────────────

  const dialog = byId("slot");
  const chip = (of) => make("span", { class: `state state-${of.word}` }, make("span", { "aria-hidden": "true" }, of.sign), ` ${of.word}`);
  const long = (text) => `${dayWords(text)}, ${text.slice(11, 19).replace(/:00$/, "")} (UTC${text.slice(19).replace("Z", "+00:00")})`;
  let shown = null;

  function show(of) {
    shown = of;
    byId("slot-title").replaceChildren(of.there ? make("a", { href: `/jobs/${encodeURIComponent(of.job)}` }, isolated(of.name)) : isolated(of.name));
    byId("slot-state").replaceChildren(chip(of), MEANS[of.word] ? ` ${MEANS[of.word]}` : "");
    const facts = [["Slot", long(of.slot)], ["Due", of.due === of.slot ? null : long(of.due)], ["Ordered", of.trigger && of.trigger !== "schedule" ? `by ${of.trigger === "manual" ? "a person" : of.trigger}` : null], ["Why", of.reason], ["Note", of.note], ["Makes up for", of.missed ? many(of.missed, "missed slot") : null]];
    const lines = facts.filter(([, text]) => text).flatMap(([word, text]) => [make("dt", {}, word), make("dd", {}, isolated(text))]);
    if (of.run) lines.push(make("dt", {}, "Run"), make("dd", {}, make("a", { href: `/runs/${encodeURIComponent(of.run)}` }, of.run)));
    byId("slot-facts").replaceChildren(...lines);
    for (const old of dialog.querySelectorAll(".trouble, .why, .decisions")) old.remove();
    byId("slot-move").hidden = !(editable && of.editable);
    byId("slot-to").value = of.due.slice(0, 16);
    const actions = [];
    if (editable && of.entry) actions.push(button("Take back", () => deed("undo", { entry: of.entry })));
    if (editable && of.editable && of.word !== "skipped") actions.push(button("Skip this slot", () => deed("skip", { job: of.job, slot: of.slot_utc })));
    if (place.dataset.run === "yes" && of.there) actions.push(button("Run the job now", () => deed("run", { job: of.job })));
    if (of.there) actions.push(button("What was decided", why));
    byId("slot-actions").replaceChildren(...actions);
    dialog.showModal();
  }
  function button(words, act) {
    const made = make("button", { type: "button", class: "outline small" }, words);
    made.addEventListener("click", async () => {
      made.disabled = true;
      made.setAttribute("aria-busy", "true");
      try {
        await act();
      } catch (refusal) {
        if (!("detail" in refusal)) throw refusal;
        trouble(byId("slot-actions"), refusal);
      } finally {
        made.disabled = false;
        made.removeAttribute("aria-busy");
      }
    });
    return made;
  }
  async function deed(name, args) {
    const answer = await send("POST", `/do/${name}`, args);
    dialog.close();
    done(answer);
  }
  async function why() {
    const found = await send("GET", `/api/v1/jobs/${encodeURIComponent(shown.job)}/why?slot=${encodeURIComponent(shown.slot)}`);
    const lines = found.occurrences.flatMap((one) => one.story).map((line) => make("li", {}, isolated(line)));
    byId("slot-actions").before(make("ol", { class: "decisions" }, ...(lines.length ? lines : [make("li", {}, "Nothing has been decided about it yet.")])));
    for (const old of [...dialog.querySelectorAll(".decisions")].slice(0, -1)) old.remove();
  }
  byId("slot-move").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const answer = await send("POST", "/calendar/move", { job: shown.job, slot: shown.slot_utc, at: byId("slot-to").value });
      dialog.close();
      done(answer);
    } catch (refusal) {
      if (!("detail" in refusal)) throw refusal;
      trouble(byId("slot-move"), refusal);
    }
  });
  dialog.addEventListener("click", (event) => (event.target === dialog || event.target.closest("[data-close]")) && dialog.close());
  // The element that was opened may have been drawn anew: whoever works by keyboard goes on where they were.
  dialog.addEventListener("close", () => {
    const again = shown && place.querySelector(`[data-id="${CSS.escape(shown.id)}"]`);
    if (again && (document.activeElement === document.body || dialog.contains(document.activeElement))) again.focus();
  });

  // ── the calendar ─────────────────────────────────────────────────────────────────────────────────────────────────

  async function dropped({ event, delta, revert }) {
    const of = event.extendedProps;
    if (event.allDay) {
      revert();
      notice("A slot has a time of day: drop it on one", { bad: true });
      return;
    }
    try {
      done(await send("POST", "/calendar/move", { job: of.job, slot: of.slot_utc, at: shifted(of.due, delta) }));
    } catch (refusal) {
      revert();
      if (!("detail" in refusal)) throw refusal;
      notice(refusal.detail, { bad: true, hint: refusal.hint });
    }
  }
  let dragged = -Infinity; // what ends a drag is no click
  place.addEventListener("click", (event) => {
    const body = event.target.closest("button.slot");
    const found = body && performance.now() - dragged > 300 && calendar.getEventById(body.dataset.id);
    if (found) opened(found);
  });
  place.addEventListener("keydown", async (event) => {
    const body = event.key === "Delete" && event.target.closest("button.slot");
    const of = body && calendar.getEventById(body.dataset.id)?.extendedProps;
    if (!editable || !of?.editable || of.word === "skipped") return;
    try {
      done(await send("POST", "/do/skip", { job: of.job, slot: of.slot_utc }));
    } catch (refusal) {
      if (!("detail" in refusal)) throw refusal;
      notice(refusal.detail, { bad: true, hint: refusal.hint });
    }
  });
  function opened(event) {
    const of = event.extendedProps;
    if (of.kind === "clock") go({ view: "day", date: of.day });
    else if (of.kind !== "sum") show({ ...of, id: event.id });
    else if (state.view === "list") location.assign(of.job && of.there ? `/jobs/${encodeURIComponent(of.job)}` : "/runs");
    else go({ view: of.job ? "list" : "day", date: of.day, ...(of.job && of.there ? { job: of.job } : {}) });
  }
  const titled = (start, end) => {
    const last = new Date(end.getTime() - 86400000);
    const say = (date, how) => date.toLocaleDateString("en-GB", how);
    const how = { day: "numeric", month: last <= start ? "long" : "short", year: "numeric" };
    if (state.view === "month") return say(new Date((start.getTime() + end.getTime()) / 2), { month: "long", year: "numeric" });
    if (last <= start) return say(start, { weekday: "long", ...how });
    return `${say(start, start.getMonth() === last.getMonth() ? { day: "numeric" } : { day: "numeric", month: "short" })} – ${say(last, how)}`;
  };
  const calendar = EventCalendar.create(place, {
    view: VIEWS[state.view],
    date: state.date,
    timeZone: offset,
    locale: "en-GB",
    firstDay: 1,
    headerToolbar: { start: "", center: "", end: "" },
    height: "100%",
    dayMaxEvents: true,
    nowIndicator: true,
    slotEventOverlap: false,
    moreLinkContent: ({ num }) => (innerWidth < 640 ? `+${num}` : `+${num} more`),
    lazyFetching: false,
    editable,
    eventDragStop: () => (dragged = performance.now()),
    eventDurationEditable: false,
    longPressDelay: 500,
    slotHeight: 30,
    scrollTime: `${String(Math.max(0, Number(place.dataset.now.slice(11, 13)) - 2)).padStart(2, "0")}:00:00`,
    eventTimeFormat: { hour: "2-digit", minute: "2-digit", hour12: false },
    slotLabelFormat: { hour: "2-digit", minute: "2-digit", hour12: false },
    eventContent: content,
    eventClassNames: ({ event }) => [`e-${event.extendedProps.word}`],
    eventDrop: dropped,
    noEventsContent: "Nothing in these days",
    eventSources: [{ events: (info, success, failure) => void fetched(info, success, failure) }], // a promise would be taken for the events
    loading: (is) => {
      byId("calendar-loading").classList.toggle("on", is);
      place.setAttribute("aria-busy", String(is));
    },
    datesSet: ({ start, end }) => {
      if (calendar) state.date = dayOf(calendar.getOption("date"));
      byId("calendar-title").textContent = titled(start, end);
      keep();
    },
    views: { listWeek: { listDayFormat: { weekday: "long", day: "numeric", month: "long" }, listDaySideFormat: () => "" }, listDay: { listDaySideFormat: () => "" }, timeGridWeek: { dayHeaderFormat: { weekday: "short", day: "numeric", month: "short" } } },
  });

  // The library calls itself a table and has no rows; without these words its parts are what they look like: days with buttons.
  const roles = ["table", "rowgroup", "row", "cell", "columnheader", "rowheader"].map((role) => `[role=${role}]`);
  const counted = ["aria-colindex", "aria-rowindex", "aria-colcount", "aria-rowcount", "aria-colspan", "aria-rowspan"];
  const odd = [...roles, ...counted.map((name) => `[${name}]`)].join();
  const plain = () => {
    for (const each of place.querySelectorAll(odd)) for (const name of [...(each.matches(roles.join()) ? ["role"] : []), ...counted]) each.removeAttribute(name);
    for (const each of place.querySelectorAll("h4:not([aria-level])")) each.setAttribute("aria-level", "3"); // below the title of the card
  };
  let soon = 0; // once for all that changes until the next picture
  const watched = { childList: true, subtree: true, attributes: true, attributeFilter: ["role", ...counted] };
  new MutationObserver(() => (soon ||= requestAnimationFrame(() => ((soon = 0), plain())))).observe(place, watched);
  plain();

  /** The address says what is shown, and the buttons too. */
  function keep() {
    place.dataset.view = state.view;
    const query = new URLSearchParams({ view: state.view, date: state.date });
    if (state.job) query.set("job", state.job);
    if (state.outcome) query.set("outcome", state.outcome);
    history.replaceState(history.state, "", `/calendar?${query}`);
    for (const each of document.querySelectorAll("[data-view][aria-pressed]")) each.setAttribute("aria-pressed", String(each.dataset.view === (state.view === "list" ? "agenda" : state.view)));
    byId("calendar-date").value = state.date;
    byId("calendar-outcome").value = state.outcome;
    const jobs = byId("calendar-job");
    if (state.job && ![...jobs.options].some((each) => each.value === state.job)) jobs.append(make("option", { value: state.job }, state.job));
    jobs.value = state.job;
  }
  /** Another view, day or filter, asked for once. */
  function go(to) {
    const view = to.view && to.view !== state.view;
    const date = to.date && to.date !== state.date;
    Object.assign(state, to);
    keep();
    if (date) calendar.setOption("date", state.date);
    if (view) calendar.setOption("view", VIEWS[state.view]);
    if (!view && !date) calendar.refetchEvents();
  }
  document.addEventListener("click", (event) => {
    const view = event.target.closest("button[data-view]");
    if (view) go({ view: view.dataset.view });
    const way = event.target.closest("button[data-go]");
    if (way?.dataset.go === "today") go({ date: today });
    else if (way) calendar[way.dataset.go]();
  });
  byId("calendar-date").addEventListener("change", (event) => event.target.value && go({ date: event.target.value }));
  byId("calendar-job").addEventListener("change", (event) => go({ job: event.target.value }));
  byId("calendar-outcome").addEventListener("change", (event) => go({ outcome: event.target.value }));
  document.body.addEventListener("horae:changed", () => !dialog.open && !place.querySelector(".ec-dragging, .ec-preview") && calendar.refetchEvents());
  keep();
})();

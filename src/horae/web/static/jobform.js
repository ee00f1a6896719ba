// The form of a job and its file's text, two views of one thing: each change asks what the text would be and what it means.
"use strict";
{
  const form = document.getElementById("jobform");
  const data = JSON.parse(document.getElementById("draft-data").textContent);
  const text = document.getElementById("text");
  const meaning = document.getElementById("meaning");
  const unsaved = document.getElementById("unsaved");
  const state = { mode: form.dataset.start, base: data.base, saved: data.saved, text: data.base };
  let waiting = null, asked = 0;

  const fields = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => typeof value === "string"));
  const written = () => ({ job: data.job, mode: state.mode, base: state.base, text: text.value, saved: state.saved, form: fields() });

  /** Show only what belongs to the kind that is chosen. */
  function kinds() {
    const kind = form.querySelector("[name=kind]:checked")?.value ?? "agent";
    for (const part of form.querySelectorAll("[data-kind]")) part.hidden = !part.dataset.kind.split(" ").includes(kind);
  }

  function showText(lines = []) {
    const place = document.getElementById("filetext");
    place.replaceChildren(
      ...state.text.replace(/\r?\n$/, "").split(/\r?\n/).flatMap((line, at) => {
        const made = document.createElement("span");
        made.textContent = line;
        if (lines.includes(at + 1)) made.className = "bad";
        return [made, "\n"];
      }),
    );
  }

  function wrong(found, lines) {
    for (const place of form.querySelectorAll("[data-wrong]")) {
      const words = found[place.dataset.wrong] ?? "";
      if (place.dataset.said !== words) place.replaceChildren(...horae.worded(words));
      place.dataset.said = words;
      const input = form.querySelector(`input[name="${place.dataset.wrong}"]:not([type=radio]), textarea[name="${place.dataset.wrong}"]`);
      if (words) input?.setAttribute("aria-invalid", "true");
      else input?.removeAttribute("aria-invalid");
    }
    const list = form.querySelector("[data-wrong-lines]");
    list.textContent = lines.length ? `Look at line ${lines.join(", ")}.` : "";
    text.toggleAttribute("aria-invalid", lines.length > 0);
  }

  /** Put an answer onto the page. */
  function show(answer) {
    state.text = answer.text;
    meaning.innerHTML = answer.html; // made by our own template, escaped there
    wrong(answer.wrong, answer.lines);
    if (state.mode === "form") {
      text.value = answer.text;
      showText(answer.lines);
    } else state.form = answer.form;
    horae.times();
  }

  async function look() {
    const number = ++asked;
    try {
      const answer = await horae.send("POST", "/jobs/draft", written());
      if (number === asked) show(answer);
    } catch (refusal) {
      if (number === asked) horae.trouble(document.getElementById("save-row").firstElementChild, refusal);
    }
  }

  function soon() {
    unsaved.hidden = false;
    clearTimeout(waiting);
    waiting = setTimeout(look, 250);
  }
  form.addEventListener("input", () => {
    kinds();
    soon();
  });

  /** Between form and file: what was written in one is in the other. */
  async function turn(mode) {
    if (mode === state.mode) return;
    clearTimeout(waiting);
    await look();
    if (mode === "form") {
      state.base = state.text;
      for (const [name, value] of Object.entries(state.form ?? {})) {
        const input = form.elements[name];
        if (input instanceof RadioNodeList) input.value = value;
        else if (input) input.value = value;
      }
      kinds();
    } else text.value = state.text;
    state.mode = mode;
    for (const pane of form.querySelectorAll("[data-pane]")) pane.hidden = pane.dataset.pane !== mode;
    for (const button of document.querySelectorAll("[data-mode]")) {
      const on = button.dataset.mode === mode;
      button.setAttribute("aria-pressed", String(on));
      button.classList.toggle("outline", !on);
    }
    if (mode === "form") showText();
    await look();
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-mode]");
    if (button) turn(button.dataset.mode);
    if (event.target.closest("[data-theirs]")) rebase();
    if (event.target.closest("[data-mine]")) save(state.theirs);
  });

  /** Their text is the one to which the form is applied; as a file, ours stands beside theirs until it is saved. */
  async function rebase() {
    const mine = fields();
    const first = data.form;
    state.saved = state.theirs;
    state.base = state.theirs;
    document.getElementById("conflicts").replaceChildren();
    if (state.mode === "file") return;
    // What was not changed here takes their value, so that it is no change of ours.
    const theirs = await horae.send("POST", "/jobs/draft", { ...written(), mode: "file", text: state.theirs });
    for (const [name, value] of Object.entries(theirs.form)) {
      const input = form.elements[name];
      if (input && (mine[name] ?? "") === (first[name] ?? "")) input.value = value;
    }
    data.form = theirs.form;
    await look();
  }

  async function save(over) {
    const row = document.getElementById("save-row");
    const button = row.querySelector("[type=submit]");
    clearTimeout(waiting);
    row.querySelector(".trouble")?.remove();
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    try {
      const answer = await horae.send("POST", "/jobs/save", over === undefined ? written() : { ...written(), saved: over });
      horae.carry(answer);
      horae.clean();
      location.assign(answer.to);
      return;
    } catch (refusal) {
      if (refusal.conflict) {
        state.theirs = refusal.theirs;
        document.getElementById("conflicts").innerHTML = refusal.conflict; // made by our own template, escaped there
        document.getElementById("conflict").focus();
      } else if (refusal.html) {
        show(refusal);
        const bad = form.querySelector("[aria-invalid=true]");
        bad?.focus();
        horae.trouble(button, { detail: "it is not saved: something is not right yet", hint: bad ? null : "what it is stands under “What it means”" });
      } else horae.trouble(button, refusal);
    }
    button.removeAttribute("aria-busy");
    button.disabled = false;
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  kinds();
  if (data.job) look(); // what is wrong with the file is told from the beginning
  if (location.hash === "#schedule") document.getElementById("schedule").focus();
}

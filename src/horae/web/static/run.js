// The output of a run: as it comes while it runs, then what was kept. It is text and nothing else, whatever a program prints.
// Of very much output the middle goes; the files of the run have all of it that was kept.
"use strict";

const card = document.querySelector("#output"); // it is not there where an answer has all of it
if (card) {
  const find = (query) => card.querySelector(query);
  const KEPT = 400_000; // characters of each stream that a page holds
  const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
  const shown = (text) => text.replaceAll("\r\n", "\n").replace(ESCAPES, "").replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const streams = { stdout: "", stderr: "" };
  let follow = true;

  function write(name) {
    const pre = find(`[data-stream="${name}"]`);
    const text = streams[name];
    pre.textContent = shown(text);
    pre.hidden = !text;
    if (name === "stderr") find('[data-title="stderr"]').hidden = !text;
    find("[data-nothing]").hidden = Boolean(streams.stdout || streams.stderr);
    if (follow) pre.scrollTop = pre.scrollHeight;
  }
  function add(name, text) {
    let whole = streams[name] + text;
    if (whole.length > KEPT) {
      whole = `${whole.slice(0, KEPT / 4)}\n… the middle is not shown …\n${whole.slice(-KEPT / 2)}`;
      find("[data-cut]").hidden = false;
    }
    streams[name] = whole;
    write(name);
  }
  function following(on) {
    follow = on;
    find("[data-follow]").setAttribute("aria-pressed", String(on));
  }
  let source = null;
  function listen() {
    source = new EventSource(`/api/v1/runs/${encodeURIComponent(card.dataset.run)}/live`);
    source.addEventListener("open", () => { streams.stdout = streams.stderr = ""; });
    source.addEventListener("output", (event) => {
      const news = JSON.parse(event.data);
      for (const name of ["stdout", "stderr"]) {
        if (!news[name]) continue;
        if (news.restart) streams[name] = "";
        add(name, news[name]);
      }
    });
    source.addEventListener("activity", () => window.horae.changed([]));
    source.addEventListener("end", () => {
      source.close();
      card.dataset.live = "no";
      find("[data-follow]").hidden = true;
      if (!streams.stdout && !streams.stderr) find("[data-nothing]").textContent = "It printed nothing.";
      window.horae.changed([]);
    });
  }
  if (card.dataset.live === "yes") listen();
  addEventListener("pagehide", () => source?.close());
  for (const pre of card.querySelectorAll("[data-stream]")) {
    pre.addEventListener("scroll", () => {
      const end = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
      if (end !== follow && card.dataset.live === "yes") following(end);
    });
  }
  find("[data-follow]").addEventListener("click", () => {
    following(!follow);
    if (follow) for (const name of ["stdout", "stderr"]) write(name);
  });
  find("[data-wrap]").addEventListener("click", (event) => {
    const on = card.classList.toggle("unwrapped");
    event.currentTarget.setAttribute("aria-pressed", String(!on));
  });
  find("[data-copy-output]").addEventListener("click", async () => {
    await navigator.clipboard?.writeText([...card.querySelectorAll("[data-stream]:not([hidden])")].map((pre) => pre.textContent).join("\n"));
    window.horae.notice("Copied");
  });
  find("[data-find]").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    let count = 0;
    for (const pre of card.querySelectorAll("[data-stream]:not([hidden])")) {
      if (wanted) count += pre.textContent.toLowerCase().split(wanted).length - 1;
    }
    find("[data-found]").textContent = wanted ? `${count} found` : "";
    if (wanted && count) window.find?.(event.target.value, false, false, true);
  });
}

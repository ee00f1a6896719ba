// Charts of the trends. The data came with the page (#trends-data); each chart says what the table says. Days are places on
// the axis, not instants: the server has decided what belongs to which day.
"use strict";
(() => {
  const { short } = window.horae;
  const drawn = new Map();
  const COLOURS = { completed: "good", failed: "bad", blocked: "warn", missed: "warn", unknown: "doubt", running: "live", claimed: "live" };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--h-${name}`).trim();
  const day = (text) => new Date(`${text}T12:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
  const seconds = (value) => (value === null || value === undefined ? "–" : value < 1 ? `${Math.round(value * 1000)} ms` : value < 10 ? `${value.toFixed(1)} s` : short(value));
  /** For an axis: one unit, whatever is lost. */
  const coarse = (value) => (value < 60 ? seconds(value) : value < 3600 ? `${+(value / 60).toFixed(1)} min` : `${+(value / 3600).toFixed(1)} h`);
  const usd = (value) => (value === null || value === undefined ? "–" : `$${value.toFixed(value < 0.1 && value > 0 ? 4 : 2)}`);
  const number = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en-GB"));

  function series(kind, data) {
    const bars = uPlot.paths.bars({ size: [0.75, 40], align: 0 });
    const line = (label, values, name, say, dash) => ({ values, of: { label, stroke: colour(name), width: 2, dash, points: { show: values.length < 40, size: 5 }, spanGaps: false, value: (_, value) => say(value) } });
    const ms = (value) => seconds(value === null || value === undefined ? null : value / 1000);
    if (kind === "duration") return { say: coarse, rows: [line("half under (p50)", data.duration_p50_s, "accent", seconds), line("95 % under", data.duration_p95_s, "warn", seconds, [6, 4])] };
    if (kind === "lateness") return { say: (value) => coarse(value / 1000), rows: [line("half under (p50)", data.lateness_p50_ms, "accent", ms), line("99 % under", data.lateness_p99_ms, "warn", ms, [6, 4])] };
    const filled = (label, values, name, say) => ({ values, of: { label, stroke: colour(name), fill: colour(name), width: 0, paths: bars, points: { show: false }, value: say } });
    if (kind === "cost") return { say: usd, rows: [filled("cost", data.cost_usd, "accent", (_, value) => usd(value))] };
    // Stacked: each one stands on those before it, so the highest is drawn first
    let below = data.days.map(() => 0);
    const stacked = data.words.map(({ word, sign, values }) => {
      below = below.map((value, at) => value + values[at]);
      return filled(`${sign} ${word}`, below, COLOURS[word] ?? "still", (_, value, __, at) => number(at === null || at === undefined ? null : values[at]));
    });
    return { say: number, whole: true, rows: stacked.reverse() };
  }

  function draw(place, data) {
    const { say, rows, whole = false } = series(place.dataset.chart, data);
    const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const options = {
      width: Math.max(200, place.clientWidth),
      height: 220,
      padding: [10, 8, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
      axes: [
        { ...axis, grid: { show: false }, space: 60, incrs: [1, 2, 3, 5, 7, 14, 28, 56, 91], values: (_, splits) => splits.map((at) => (data.days[at] ? day(data.days[at]) : "")) },
        { ...axis, size: 62, space: 34, ...(whole ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000] } : {}), values: (_, splits) => splits.map(say) },
      ],
      series: [{ label: "Day", value: (_, at) => (at === null || at === undefined ? "–" : day(data.days[at])) }, ...rows.map((row) => row.of)],
    };
    place.replaceChildren();
    return new uPlot(options, [data.days.map((_, at) => at), ...rows.map((row) => row.values)], place);
  }

  function all() {
    const from = document.getElementById("trends-data");
    for (const [place, chart] of drawn) {
      chart.destroy();
      drawn.delete(place);
      watcher.unobserve(place);
    }
    if (!from) return;
    const data = JSON.parse(from.textContent);
    for (const place of document.querySelectorAll("[data-chart]")) {
      drawn.set(place, draw(place, data));
      watcher.observe(place);
    }
  }
  const watcher = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const chart = drawn.get(target);
      const width = Math.max(200, Math.floor(contentRect.width));
      if (chart && chart.width !== width) chart.setSize({ width, height: 220 });
    }
  });
  all();
  document.addEventListener("htmx:after:swap", (event) => (event.target.id === "trends" || document.querySelector("[data-chart]:empty")) && all());
  document.body.addEventListener("horae:theme", all);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  document.getElementById("trends-job").addEventListener("change", (event) => event.target.form.requestSubmit());
})();

// Runs, also those at work: their state and curves, and starting, stopping and resuming.

import { attempt, get, post } from "./api.js";
import { Buffer } from "./buffer.js";
import { chart, COLOURS } from "./curves.js";
import { fill, h, number, short, toast } from "./dom.js";
import { newRun } from "./newrun.js";

const PAUSE = 4000;  // milliseconds between two looks at what is at work, which two pages may do without slowing it down
const FIRST = ["solved_rate/test", "solved_rate/train", "solved_rate/replay", "return/test", "return/train", "return/replay", "gen_gap", "shift_gap",
  "jsd_distance", "mutual_information", "eta", "effective_levels", "dataset_mass"];

export async function show(view, query) {
  const state = { chosen: new Set(), focus: query.get("run"), curves: new Map(), timer: null, gone: false, first: true };
  const table = h("tbody"), charts = h("div", { class: "charts", "aria-live": "off" }), about = h("div");
  const buffer = new Buffer(about);
  const job = h("div", { class: "card", hidden: true });
  const none = h("p", { class: "soft" });
  view.append(h("div", { class: "row spread" }, h("h1", {}, "Runs"),
    h("button", { class: "main", id: "new-run", onclick: () => attempt(() => newRun(look)) }, "Train a new run …")), job, none,
    h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, ["Compare", "Run", "Method", "State", "Updates", ""].map(word => h("th", { scope: "col" }, word)))), table)),
    charts, about);

  /** Look now, and from now on every few seconds; not while nobody can see the page. */
  async function look() {
    clearTimeout(state.timer);
    try {
      await lookOnce();
      state.failed = "";
    } catch (error) {
      if (error.message !== state.failed) toast(error.message, "bad");
      state.failed = error.message;
    }
    if (!state.gone && !document.hidden) state.timer = setTimeout(look, state.works ? PAUSE : 2 * PAUSE);
  }

  async function lookOnce() {
    const [{ runs }, work] = await Promise.all([get("runs"), get("job")]);
    if (state.gone) return;
    none.textContent = runs.length ? "" : "No runs in this folder yet: train one.";
    if (state.first && runs.length) {
      state.focus = runs.some(one => one.name === state.focus) ? state.focus : (runs.find(one => one.status === "running") || runs[0]).name;
      state.chosen.add(state.focus);
      state.first = false;
    }
    if (work.working && work.run !== state.job) { state.job = work.run; state.wanted = work.run; }
    if (state.wanted && runs.some(one => one.name === state.wanted)) {
      state.chosen.add(state.wanted);
      state.focus = state.wanted;
      state.wanted = null;
    }
    showJob(job, work, look);
    const colour = new Map([...state.chosen].map((name, place) => [name, COLOURS[place % COLOURS.length]]));
    refill(table, state, [runs, work.run, work.working, [...state.chosen], state.focus], () => runs.flatMap(one => row(one, state, colour, work, look)));
    state.works = work.working || runs.some(one => one.status === "running");
    await draw(runs, colour);
  }

  /** What was measured in a run: what is known already, and what is new. */
  async function follow(one) {
    const known = state.curves.get(one.name), same = known?.started === one.started;
    if (same && known.updates === one.updates && known.status === one.status) return known;
    const since = same && known.updates <= one.updates ? known.updates : 0;  // a run that is resumed may begin earlier
    const found = { ...await get("curves", { run: one.name, since }), started: one.started };
    if (since) found.rows = [...known.rows, ...found.rows];
    state.curves.set(one.name, found);
    return found;
  }

  async function draw(runs, colour) {
    const there = runs.filter(one => state.chosen.has(one.name) && one.status !== "unreadable");
    const told = await Promise.all(there.map(follow));
    if (state.gone) return;
    const focus = there.find(one => one.name === state.focus) || there[0];
    if (focus) buffer.show(focus);
    const drawn = JSON.stringify(there.map((one, place) => [one.name, colour.get(one.name), told[place].updates, told[place].started]));
    if (drawn === state.drawn) return;
    state.drawn = drawn;
    const metrics = new Map(told.flatMap(found => found.metrics.map(metric => [metric.name, metric])));
    const order = [...metrics.keys()].sort((a, b) => (FIRST.indexOf(a) + 99) % 99 - (FIRST.indexOf(b) + 99) % 99);
    const total = Math.max(1, ...told.map(found => found.total));
    fill(charts, order.map(name => chart(metrics.get(name), told.flatMap((found, place) => found.seeds.map(seed => ({
      colour: colour.get(there[place].name),
      points: found.rows.filter(row => row.seed === seed && row[name] !== null && row[name] !== undefined).map(row => [row.update, row[name]]),
    }))), { total })));
  }

  const seen = () => document.hidden || look();
  document.addEventListener("visibilitychange", seen);
  await look();
  return () => { state.gone = true; buffer.leave(); clearTimeout(state.timer); document.removeEventListener("visibilitychange", seen); };
}

/** Fill anew only if something has changed, and leave the focus where it was. */
function refill(table, state, facts, rows) {
  const key = JSON.stringify(facts);
  if (key === state.filled) return;
  state.filled = key;
  const active = table.contains(document.activeElement) ? document.activeElement : null;
  const [run, kind] = [active?.closest("tr").dataset.run, active?.tagName];
  fill(table, rows());
  if (active) [...table.rows].find(one => one.dataset.run === run)?.querySelector(kind)?.focus();
}

function row(one, state, colour, work, look) {
  const chosen = state.chosen.has(one.name);
  const dot = h("span", { class: "dot" });
  if (chosen) dot.style.background = dot.style.borderColor = colour.get(one.name);
  const tick = h("input", { type: "checkbox", checked: chosen, "aria-label": `Compare ${short(one.name)}`, onchange: () => {
    if (tick.checked) { state.chosen.add(one.name); state.focus = one.name; } else state.chosen.delete(one.name);
    if (!state.chosen.has(state.focus)) state.focus = [...state.chosen][0];
    look();
  } });
  const mine = work.working && work.run === one.name;
  const act = mine ? h("button", { class: "stop", onclick: () => attempt(async () => { await post("stop", {}); await look(); }) }, "Stop")
    : (one.status === "interrupted" || one.quiet) && !work.working
      ? h("button", { onclick: () => attempt(async () => { await post("resume", { run: one.name }); await look(); }) }, "Resume") : null;
  const problem = one.problem ? [h("tr", { class: "problem" }, h("td"), h("td", { class: "soft", colspan: 5 }, one.problem))] : [];
  return [h("tr", { "data-shown": String(one.name === state.focus), "data-run": one.name },
    h("td", {}, tick), h("th", { scope: "row" }, dot, short(one.name)), h("td", {}, one.method || "–"),
    h("td", {}, h("span", { class: `badge ${one.status}` }, mine ? "running" : one.quiet ? "running, but silent" : one.status)),
    h("td", {}, one.total ? [h("progress", { value: one.updates, max: one.total, "aria-label": "Updates done" }), ` ${number(one.updates)} of ${number(one.total)}`] : "–"),
    h("td", {}, act)), ...problem];
}

function showJob(node, work, look) {
  const said = work.said.trim();
  node.hidden = !work.working && !(work.code && said);
  if (node.hidden) return;
  const title = work.working ? `Training ${short(work.run)}` : `${short(work.run)} ended with code ${work.code}`;
  fill(node, h("div", { class: "row spread" }, h("h2", {}, title),
    work.working ? h("button", { id: "stop", onclick: () => attempt(async () => { await post("stop", {}); toast("It saves, then ends."); await look(); }) }, "Stop") : null),
    h("pre", { id: "said" }, said.split("\n").slice(-6).join("\n") || "…"));
}

// Runs, also those at work: curves, the buffer now, and starting, stopping and resuming.

import { attempt, get, post } from "./api.js";
import { miniature } from "./board.js";
import { chart, COLOURS } from "./curves.js";
import { dialog, field, fill, h, number, options, short, toast } from "./dom.js";
import { openSet } from "./levels.js";

const PAUSE = 2000;  // milliseconds between two looks at what is at work
const FIRST = ["solved_rate/test", "solved_rate/train", "solved_rate/replay", "return/test", "return/train", "return/replay", "gen_gap", "shift_gap",
  "jsd_distance", "mutual_information", "eta", "effective_levels", "dataset_mass"];

export async function show(view, query) {
  const state = { chosen: new Set(), focus: query.get("run"), curves: new Map(), timer: null, gone: false, first: true };
  const table = h("tbody"), charts = h("div", { class: "charts", "aria-live": "off" }), about = h("div");
  const job = h("div", { class: "card", hidden: true });
  const none = h("p", { class: "soft" });
  view.append(h("div", { class: "row spread" }, h("h1", {}, "Runs"),
    h("button", { class: "main", id: "new-run", onclick: () => attempt(() => newRun(look)) }, "Train a new run …")), job, none,
    h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, ["Compare", "Run", "Method", "State", "Updates", ""].map(word => h("th", { scope: "col" }, word)))), table)),
    charts, about);

  async function look() {
    clearTimeout(state.timer);
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
    fill(table, runs.map(one => row(one, state, colour, work, look)));
    await draw(runs, colour);
    const works = work.working || runs.some(one => one.status === "running");
    state.timer = setTimeout(() => attempt(look), works ? PAUSE : 4 * PAUSE);
  }

  async function draw(runs, colour) {
    const there = runs.filter(one => state.chosen.has(one.name) && one.status !== "unreadable");
    const told = await Promise.all(there.map(async one => {
      const known = state.curves.get(one.name);
      if (known && known.updates === one.updates && known.status === one.status) return known;
      const found = await get("curves", { run: one.name });
      state.curves.set(one.name, found);
      return found;
    }));
    if (state.gone) return;
    const metrics = new Map(told.flatMap(found => found.metrics.map(metric => [metric.name, metric])));
    const order = [...metrics.keys()].sort((a, b) => (FIRST.indexOf(a) + 99) % 99 - (FIRST.indexOf(b) + 99) % 99);
    const total = Math.max(1, ...told.map(found => found.total));
    fill(charts, order.map(name => chart(metrics.get(name), told.flatMap((found, place) => found.seeds.map(seed => ({
      colour: colour.get(there[place].name),
      points: found.rows.filter(row => row.seed === seed && row[name] !== null && row[name] !== undefined).map(row => [row.update, row[name]]),
    }))), { total })));
    const focus = there.find(one => one.name === state.focus) || there[0];
    if (focus && about.dataset.run !== focus.name) {
      about.dataset.run = focus.name;
      attempt(() => describe(about, focus));
    }
  }

  await look();
  return () => { state.gone = true; clearTimeout(state.timer); };
}

function row(one, state, colour, work, look) {
  const chosen = state.chosen.has(one.name);
  const dot = h("span", { class: "dot" });
  if (chosen) dot.style.background = dot.style.borderColor = colour.get(one.name);
  const tick = h("input", { type: "checkbox", checked: chosen, "aria-label": `Compare ${short(one.name)}`, onchange: () => {
    if (tick.checked) { state.chosen.add(one.name); state.focus = one.name; } else state.chosen.delete(one.name);
    attempt(look);
  } });
  const mine = work.working && work.run === one.name;
  const act = mine ? h("button", { class: "stop", onclick: () => attempt(async () => { await post("stop", {}); await look(); }) }, "Stop")
    : (one.status === "interrupted" || one.quiet) && !work.working
      ? h("button", { onclick: () => attempt(async () => { await post("resume", { run: one.name }); await look(); }) }, "Resume") : null;
  return h("tr", { "aria-selected": String(one.name === state.focus), "data-run": one.name },
    h("td", {}, tick), h("td", {}, dot, h("b", {}, short(one.name))), h("td", {}, one.method || "–"),
    h("td", {}, h("span", { class: `badge ${one.status}`, title: one.problem || "" }, mine ? "running" : one.quiet ? "running, but silent" : one.status)),
    h("td", {}, one.total ? [h("progress", { value: one.updates, max: one.total, "aria-label": "Updates done" }), ` ${number(one.updates)} of ${number(one.total)}`] : "–"),
    h("td", {}, act));
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

/** Below the curves: the buffer of one run, P_Λ, ancestry, settings. */
async function describe(node, one) {
  const told = await get("settings", { run: one.name });
  const settings = h("details", { class: "card" }, h("summary", {}, "Settings"), h("pre", {}, `${told.command.join(" ")}\n\n${JSON.stringify(told.config, null, 2)}`));
  if (!told.buffers.length) {
    delete node.dataset.run;  // there will be a checkpoint later
    fill(node, h("p", { class: "soft" }, `${short(one.name)} has saved no buffer yet.`), settings);
    return;
  }
  const seeds = options(h("select", { onchange: () => attempt(show) }), told.buffers.map((name, place) => [name, `seed ${one.seeds[place]}`]));
  const pane = h("div", { class: "buffer" }, h("div", { class: "pane" }));
  const bars = h("canvas", { class: "histogram", role: "img", "aria-label": "Probabilities by rank", width: 1200, height: 220 });
  const words = h("p", { class: "soft", id: "turnover" });
  let before = null;
  async function show() {
    const set = seeds.value;
    words.textContent = "Reading the buffer …";
    const found = await post("gallery", { set, sort: "probability", descending: true });
    const numbers = await post("gallery", { set, sort: "number" });
    histogram(bars, found.values);
    const now = new Set(numbers.values);
    if (before && before.set === set) {
      const [came, left] = [[...now].filter(n => !before.now.has(n)), [...before.now].filter(n => !now.has(n))];
      words.textContent = `Since the last look ${came.length} levels entered and ${left.length} left.`;
    } else words.textContent = `${now.size} levels, most probable first. The most probable has ${number(found.values[0], true)} of all draws.`;
    before = { set, now };
    await openSet(pane.firstChild, set, new URLSearchParams({ sort: "probability", descending: "1" }));
  }
  const number_ = h("input", { type: "number", min: 0, "aria-label": "Number of a level" });
  const line = h("div", { class: "lineage" });
  const trace = () => attempt(async () => {
    const found = await get("lineage", { run: one.name, seed: seeds.value.split("-").at(-1), number: number_.value || 0 });
    fill(line, found.line.length ? found.line.flatMap((level, place) => [place ? h("span", {}, "→") : null,
      h("figure", { class: "made-one" }, level.text ? miniature(level.text, 110, `level ${level.number}`) : null, h("small", {}, `${level.made_by} · ${level.number}`))])
      : h("p", { class: "soft" }, "No level of this number is on record."));
  });
  fill(node, h("div", { class: "row spread" }, h("h2", {}, `The buffer of ${short(one.name)}`),
    h("div", { class: "row" }, field("Seed", seeds), h("button", { onclick: () => attempt(show) }, "Look again"))), words,
    h("figure", { class: "chart" }, h("h3", {}, "P_Λ by rank: square roots of the probabilities of the 150 most probable levels"), bars), pane,
    h("h3", {}, "Ancestry"), h("div", { class: "row" }, field("Of level number", number_), h("button", { onclick: trace }, "Show")), line, settings);
  await show().catch(error => fill(pane.firstChild, h("p", { class: "soft empty" }, error.message)));
}

function histogram(canvas, values) {
  const pen = canvas.getContext("2d"), { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  const bars = Math.min(values.length, 150), most = values[0] || 1;
  pen.fillStyle = COLOURS[0];
  for (let rank = 0; rank < bars; rank++) {
    const tall = Math.max(1, Math.sqrt(values[rank] / most) * (height - 10));
    pen.fillRect(rank * width / bars, height - tall, width / bars - 2, tall);
  }
  canvas.setAttribute("aria-label", `Square roots of probabilities of ${values.length} levels, from ${number(values[0], true)} down to ${number(values.at(-1), true)}`);
}

async function newRun(look) {
  const [folder, choices] = await Promise.all([get("folder"), get("choices")]);
  const sets = folder.levels.filter(one => !one.task || one.task === "gridworld").map(one => [one.name, short(one.name)]);
  const pick = entries => options(h("select"), entries);
  const parts = {
    method: pick(choices.methods.map(name => [name, name])), levels: pick(sets), generator: pick([["", "none"], ...folder.generator.map(one => [one.name, short(one.name)])]),
    held_out: pick([["", "none"], ...sets]), preset: pick(choices.presets.map(name => [name, name])),
    updates: h("input", { type: "number", min: 1, placeholder: "as the preset" }), seed: h("input", { type: "number", min: 0, value: 0 }),
    out: h("input", { value: `${folder.home}/runs/${choices.methods[0]}` }),
  };
  parts.method.onchange = () => { parts.out.value = `${folder.home}/runs/${parts.method.value}`; };
  const problem = h("p", { class: "bad", role: "alert" });
  const node = dialog("Train a new run", h("div", { class: "form" }, field("Method", parts.method), field("Levels", parts.levels), field("Generator, for vae-dred", parts.generator),
    field("Held-out levels", parts.held_out), field("Preset", parts.preset), field("Updates", parts.updates), field("Seed", parts.seed), field("Run folder", parts.out)), problem,
    h("p", { class: "soft" }, "The same as `dred train` in a terminal; one run at a time. It goes on while this page is closed, and ends with the studio."),
    h("button", { class: "main", id: "start", onclick: async () => {
      const body = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.value]).filter(([, value]) => value !== ""));
      for (const name of ["updates", "seed"]) if (name in body) body[name] = Number(body[name]);
      try { await post("train", body); node.close(); await look(); } catch (error) { problem.textContent = error.message; }
    } }, "Start"));
}

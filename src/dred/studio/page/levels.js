// Galleries of sets of levels: filters, order, one level large.

import { attempt, get, newest, post } from "./api.js";
import { Board, rowsOf } from "./board.js";
import { dialog, facts, field, fill, h, levels, number, options, short } from "./dom.js";
import { drawing } from "./drawing.js";
import { Gallery } from "./gallery.js";
import { ancestry, bufferIn } from "./lineage.js";

export async function show(view, query) {
  const folder = await get("folder");
  const sets = folder.levels.concat(folder.generator.map(one => ({ name: `${one.name}/levels.npz`, of: "generator" })));
  if (!sets.length) {
    view.append(h("div", { class: "empty" }, h("h1", {}, "No levels here yet"),
      h("p", {}, "Draw some on the ", h("a", { href: "#canvas" }, "canvas"), ", or make a set in a terminal:"),
      h("pre", {}, "dred levels make cave-escape-train --out train.npz")));
    return;
  }
  const chosen = query.get("set") || (sets.find(one => !one.damaged) || sets[0]).name;
  const list = h("ul", { class: "sets" }, sets.map(one => h("li", {},
    h("a", { href: `#levels?${new URLSearchParams({ set: one.name })}`, "aria-current": one.name === chosen ? "true" : null },
      h("b", {}, short(one.name)),
      h("small", {}, one.of ? "levels of a generator" : one.damaged ? "damaged: it cannot be read"
        : `${one.levels === null ? "levels" : levels(one.levels)}${one.sizes ? " of several sizes" : one.height ? ` · ${one.height}×${one.width}` : ""}`)))));
  const pane = h("section", { class: "pane", "aria-label": short(chosen) });
  view.append(h("aside", { "aria-label": "Sets of levels" }, h("h2", {}, "Sets"), list), pane);
  await openSet(pane, chosen, query);
}

export async function openSet(pane, set, query = new URLSearchParams(), title = short(set)) {
  fill(pane, h("p", { class: "soft empty" }, "Opening …"));
  const ask = { set, sort: query.get("sort") || "", descending: query.get("descending") === "1", ranges: {} };
  const gallery = new Gallery((level, place) => large(ask.set, gallery.order, place));
  const count = h("output", { class: "count", "aria-live": "polite" });
  let stay = false;
  const take = found => {
    count.textContent = `${found.order.length.toLocaleString("en")} of ${levels(found.total)}`;
    gallery.show(ask.set, found, ask.sort, stay);
    stay = false;
  };
  const refresh = newest(() => post("gallery", ask), take);
  const told = await post("gallery", ask).catch(error => { fill(pane, problem(title, error)); });
  if (!told) return async other => openSet(pane, other, query, title);
  const bar = h("div", { class: "bar" }, h("h1", {}, title), count, controls(ask, told, refresh));
  fill(pane, bar, gallery.node);
  take(told);
  return async other => { ask.set = other; stay = true; await refresh(); };  // the same filters, of a newer set
}

const problem = (title, error) => h("div", { class: "empty" }, h("h1", {}, title), h("p", { class: "bad", role: "alert" }, error.message));

function controls(ask, told, refresh) {
  const names = Object.entries(told.features), kinds = Object.entries(told.structures);
  const sort = options(h("select", { onchange: () => { ask.sort = sort.value; refresh(); } }),
    [["", "their number"], ...(kinds.length > 1 ? [["structure", "what made them"]] : []), ...names.map(([name, one]) => [name, one.label])], ask.sort);
  const way = h("button", { class: "plain", "aria-label": "Reverse the order", title: "Reverse the order",
    onclick: () => { ask.descending = !ask.descending; way.textContent = ask.descending ? "↓" : "↑"; refresh(); } },
    ask.descending ? "↓" : "↑");
  const structure = options(h("select", { onchange: () => { ask.structure = structure.value || null; refresh(); } }),
    [["", "all structures"], ...kinds.map(([name, n]) => [name, `${name || "(none)"} (${n})`])]);
  const filters = h("details", { class: "filters" }, h("summary", {}, "Filters"),
    h("div", { class: "grid" }, names.filter(([, one]) => one.high > one.low).map(([name, one]) => range(name, one, ask, refresh))));
  return h("div", { class: "row" }, field("Sort by", sort), way, kinds.length > 1 ? field("Made by", structure) : null, filters);
}

function range(name, one, ask, refresh) {
  const scale = one.percent ? 100 : 1;
  const ends = [0, 1].map(end => h("input", { type: "number", step: "any", "aria-label": `${end ? "at most" : "at least"}, ${one.label}`,
    placeholder: number((end ? one.high : one.low) * scale), oninput: () => {
      const both = ends.map(input => input.value === "" ? null : Number(input.value) / scale);
      if (both.every(value => value === null)) delete ask.ranges[name];
      else ask.ranges[name] = both;
      refresh();
    } }));
  return h("fieldset", {}, h("legend", {}, `${one.label}${one.percent ? ", %" : ""}`), ends[0], "–", ends[1]);
}

/** One level large, with the ways through it; arrows go to its neighbours. */
async function large(set, order, place) {
  const body = h("div", { class: "large" });
  const node = dialog("Level", body);
  node.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || event.target.matches("input")) return;
    place = Math.max(0, Math.min(order.length - 1, place + step));
    go();
  });
  const lays = { distances: false, path: true, seen: false };
  const go = () => attempt(async () => {
    const told = await get("level", { set, level: order[place] });
    node.querySelector("h2").textContent = `Level ${told.number}${told.structure ? ` · ${told.structure}` : ""}`;
    const known = Object.entries(told.facts).map(([name, one]) => [name, number(one.value, one.percent)]);
    if (told.text === null) {
      fill(body, h("img", { src: `api/picture?${new URLSearchParams({ set, level: told.number, size: 420 })}`, alt: `level ${told.number}` }), facts(known));
      return;
    }
    const found = await post("inspect", { text: told.text });
    fill(body, ...drawn(told, found, known, lays, node));
    const buffer = bufferIn(set);
    if (buffer) {
      const line = h("div", { class: "lineage" });
      body.append(h("section", { class: "whole", "aria-label": "Ancestry" }, h("h3", {}, "Ancestry"), line));
      ancestry(line, buffer, told.facts.number.value);
    }
  });
  await go();
}

function drawn(told, found, known, lays, node) {
  const canvas = h("canvas", { role: "img", "aria-label": `level ${told.number}` });
  const board = new Board(canvas);
  const lay = () => board.show(rowsOf(told.text), Object.fromEntries(Object.keys(lays).filter(name => lays[name]).map(name => [name, found[name]])));
  board.rows = rowsOf(told.text);
  board.fit(Math.min(innerWidth - 60, innerHeight - 260, 560));
  lay();
  const toCanvas = mode => { drawing.set(rowsOf(told.text)); node.close(); location.hash = `#canvas?mode=${mode}`; };
  return [canvas, h("div", {},
    h("p", { class: found.solvable ? "good" : "bad" }, found.solvable ? `Solvable in ${found.path.length - 1} steps.` : "The goal cannot be reached from the start."),
    h("div", { class: "checks" }, [["path", "Shortest path"], ["distances", "Distances to the goal"], ["seen", "What the agent sees first"]].map(([name, words]) =>
      h("label", {}, h("input", { type: "checkbox", checked: lays[name], onchange: event => { lays[name] = event.target.checked; lay(); } }), words))),
    facts(known),
    h("div", { class: "row" }, h("button", { class: "main", onclick: () => toCanvas("draw") }, "Open on the canvas"),
      h("button", { onclick: () => toCanvas("watch") }, "Let an agent play")))];
}

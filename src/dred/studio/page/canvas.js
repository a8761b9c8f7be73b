// The canvas: draw a level, see at once what it is worth, let agents play it, walk it yourself.

import { attempt, get, newest, post, upload } from "./api.js";
import { Board, miniature, rowsOf, STARTS } from "./board.js";
import { dialog, facts, field, fill, h, levels as many, number, options, short, toast } from "./dom.js";
import { drawing, emptyRoom, line, mirrored } from "./drawing.js";
import { Player } from "./player.js";

const TOOLS = [["#", "Wall"], [".", "Floor"], [",", "Moss"], ["~", "Lava"], ["S", "Start"], ["G", "Goal"]];

export async function show(view, query) {
  const canvas = h("canvas", { id: "board", tabindex: 0, role: "application", "aria-describedby": "help",
    "aria-label": "The level. Arrows move the cursor, space paints, 1 to 6 choose a tile." });
  const board = new Board(canvas);
  const state = { tool: "#", symmetry: "none", mode: query.get("mode") || "draw", lays: { path: true, distances: false, seen: false },
    found: null, cursor: null, ghost: [] };
  const status = h("p", { id: "status", class: "status", role: "status" }, "…");
  const known = h("div");
  const cursor = h("p", { class: "unseen", role: "status", id: "cursor" });
  const stage = h("div", { class: "stage" }, canvas, cursor);
  const player = new Player(() => redraw(), mode => choose(mode));

  function redraw() {
    const lays = Object.fromEntries(Object.entries(state.lays).filter(([, on]) => on).map(([name]) => [name, state.found?.[name]]));
    const over = state.mode === "draw" ? lays : { ...(state.lays.distances ? { distances: state.found?.distances } : {}), ...player.over() };
    board.show(drawing.rows, { ...over, cursor: document.activeElement === canvas && state.mode === "draw" ? state.cursor : null, ghost: state.ghost });
  }
  const refit = () => {
    const wide = innerWidth > 900;
    board.rows = drawing.rows;
    board.fit(stage.clientWidth - 8, wide ? innerHeight - 130 : innerHeight * 0.62);
    redraw();
  };

  const inspect = newest(() => post("inspect", { text: drawing.text }), found => {
    state.found = found.problem ? null : found;
    status.className = `status ${found.problem || !found.solvable ? "bad" : "good"}`;
    status.textContent = found.problem || (found.solvable ? `Solvable in ${found.path.length - 1} steps` : "Unsolvable: the goal cannot be reached from the start");
    status.dataset.version = drawing.version;
    fill(known, found.problem ? null : facts(Object.entries(found.facts).map(([name, one]) => [name, number(one.value, one.percent)])));
    player.level(found.problem ? null : drawing.text, state.mode);
    redraw();
  });
  const changed = () => { refit(); inspect(); };
  drawing.addEventListener("change", changed);

  const modes = h("div", { class: "segments", role: "group", "aria-label": "What to do" },
    [["draw", "Draw"], ["watch", "Watch an agent"], ["walk", "Walk yourself"]].map(([name, words]) =>
      h("button", { "data-mode": name, onclick: () => choose(name) }, words)));
  const panels = { draw: drawPanel(state, redraw, known), agent: player.node };
  const side = h("section", { class: "side", "aria-label": "Tools" }, modes, status, panels.draw, panels.agent);
  function choose(mode) {
    state.mode = mode;
    for (const button of modes.children) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    panels.draw.classList.toggle("brief", mode !== "draw");
    panels.agent.hidden = mode === "draw";
    player.mode(mode, state.found ? drawing.text : null);
    if (mode === "walk") canvas.focus();
    redraw();
  }

  strokes(canvas, board, state, redraw);
  const keys = event => pressed(event, state, canvas, player, redraw);
  addEventListener("keydown", keys);
  addEventListener("resize", refit);
  canvas.addEventListener("focus", redraw);
  canvas.addEventListener("blur", redraw);
  view.append(stage, side);
  refit();
  await player.load(query.get("agent"));
  choose(state.mode);
  inspect();
  return () => {
    drawing.removeEventListener("change", changed);
    removeEventListener("keydown", keys);
    removeEventListener("resize", refit);
    player.pause();
  };
}

function strokes(canvas, board, state, redraw) {
  let last = null;
  const put = to => {
    const [height, width] = [drawing.rows.length, drawing.rows[0].length];
    const cells = line(last || to, to).flatMap(cell => mirrored(cell, height, width, state.symmetry));
    const single = state.tool === "G" || STARTS.includes(state.tool);
    drawing.paint(single ? [to] : cells, state.tool);
    last = to;
  };
  canvas.addEventListener("pointerdown", event => {
    const cell = board.cellAt(event);
    if (!cell || event.button || state.mode === "walk") return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    drawing.remember();
    last = null;
    state.cursor = cell;
    put(cell);
  });
  canvas.addEventListener("pointermove", event => {
    const cell = board.cellAt(event);
    if (last && cell && String(cell) !== String(last)) put(cell);
    const ghost = cell && event.pointerType === "mouse" && state.mode !== "walk"
      ? mirrored(cell, drawing.rows.length, drawing.rows[0].length, state.symmetry) : [];
    if (String(ghost) !== String(state.ghost)) { state.ghost = ghost; redraw(); }
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { last = null; });
  canvas.addEventListener("pointerleave", () => { state.ghost = []; redraw(); });
}

function pressed(event, state, canvas, player, redraw) {
  if (event.target.matches("input, select, textarea, dialog *")) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    return event.shiftKey ? drawing.redo() : drawing.undo();
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (state.mode !== "draw" && player.key(event)) return event.preventDefault();
  const tool = TOOLS[Number(event.key) - 1];
  if (tool) return document.querySelector(`[data-tool="${tool[0]}"]`)?.click();
  if (document.activeElement !== canvas || state.mode !== "draw") return;
  const [height, width] = [drawing.rows.length, drawing.rows[0].length];
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  state.cursor ||= [0, 0];
  if (move) state.cursor = [Math.max(0, Math.min(height - 1, state.cursor[0] + move[0])), Math.max(0, Math.min(width - 1, state.cursor[1] + move[1]))];
  else if (event.key === " " || event.key === "Enter") {
    drawing.remember();
    drawing.paint(mirrored(state.cursor, height, width, state.symmetry), state.tool);
  } else return;
  event.preventDefault();
  document.getElementById("cursor").textContent = `Row ${state.cursor[0]}, column ${state.cursor[1]}: ${TOOLS.find(([symbol]) => symbol === drawing.rows[state.cursor[0]][state.cursor[1]])?.[1] || "start"}`;
  redraw();
}

function drawPanel(state, redraw, known) {
  const tools = h("div", { class: "tools", role: "group", "aria-label": "Tile" }, TOOLS.map(([symbol, name], place) =>
    h("button", { "data-tool": symbol, "aria-pressed": String(state.tool === symbol), title: `${name} (${place + 1})`,
      onclick: event => {
        const again = symbol === "S" && STARTS.includes(state.tool);
        state.tool = again ? STARTS[(STARTS.indexOf(state.tool) + 1) % STARTS.length] : symbol;
        for (const one of tools.children) one.setAttribute("aria-pressed", String(one === event.currentTarget));
        if (symbol === "S") event.currentTarget.querySelector(".swatch").className = `swatch start-${STARTS.indexOf(state.tool)}`;
      } }, h("span", { class: `swatch tile-${place}` }), h("span", {}, name))));
  const symmetry = options(h("select", { onchange: () => { state.symmetry = symmetry.value; } }),
    [["none", "no symmetry"], ["left-right", "left = right"], ["top-bottom", "top = bottom"], ["both", "four-fold"], ["turn", "half turn"]]);
  const lays = h("div", { class: "checks" }, [["path", "Shortest path"], ["distances", "Distances"], ["seen", "First sight"]].map(([name, words]) =>
    h("label", {}, h("input", { type: "checkbox", checked: state.lays[name], onchange: event => { state.lays[name] = event.target.checked; redraw(); } }), words)));
  return h("div", { class: "draw" }, tools,
    h("div", { class: "row" }, field("Brush", symmetry),
      h("button", { onclick: () => drawing.undo(), title: "Ctrl+Z" }, "Undo"), h("button", { onclick: () => drawing.redo(), title: "Ctrl+Shift+Z" }, "Redo")),
    lays, known, files());
}

function files() {
  const size = h("input", { type: "number", min: 2, max: 101, value: drawing.rows.length, "aria-label": "Cells on a side" });
  const picker = h("input", { type: "file", accept: ".txt,.png,.json,.jsonl", hidden: true, onchange: () => attempt(async () => {
    const found = await upload(picker.files[0]);
    if (found.levels.length === 1) drawing.set(rowsOf(found.levels[0]));
    else several(many(found.total), found.levels);
    picker.value = "";
  }) });
  return h("div", { class: "files" },
    h("div", { class: "row" }, h("button", { class: "main", onclick: () => saveTo([drawing.text]) }, "Save to a set …"),
      h("button", { onclick: async () => { await navigator.clipboard.writeText(drawing.text); toast("Copied as text."); } }, "Copy as text"),
      h("button", { onclick: pasted }, "From text …")),
    h("div", { class: "row" }, h("button", { onclick: () => picker.click() }, "Open a file …"), picker,
      h("button", { onclick: () => attempt(mutate) }, "Mutate …"),
      h("span", { class: "room" }, h("button", { onclick: () => { const n = Math.max(2, Math.min(101, Number(size.value) || 13)); drawing.set(emptyRoom(n, n)); } }, "New room of"), size)),
    h("p", { class: "soft", id: "help" }, "Text, PNG and JSON files can be opened. Click Start again to turn it."));
}

function pasted() {
  const area = h("textarea", { rows: 14, cols: 40, spellcheck: false, "aria-label": "The drawing as text" });
  area.value = drawing.text;
  const problem = h("p", { class: "bad", role: "alert" });
  const node = dialog("A level as text", area,
    h("p", { class: "soft" }, "# wall  . floor  , moss  ~ lava  G goal  S start, or > v < ^"), problem,
    h("button", { class: "main", onclick: () => attempt(async () => {
      const found = await post("inspect", { text: area.value });
      problem.textContent = found.problem || "";
      if (!found.problem) { drawing.set(rowsOf(found.text)); node.close(); }
    }) }, "Draw it"));
}

async function mutate() {
  const { levels, solvable } = await post("mutate", { text: drawing.text, count: 12, seed: Math.floor(Math.random() * 2 ** 31) });
  several("Mutations", levels, solvable);
}

export function several(title, levels, solvable) {
  const node = dialog(title, h("div", { class: "made" }, levels.map((text, place) =>
    h("button", { class: "made-one", onclick: () => { drawing.set(rowsOf(text)); node.close(); location.hash = "#canvas"; } },
      miniature(text, 110, `level ${place}`), h("small", {}, !solvable ? "" : solvable[place] ? "solvable" : "unsolvable")))),
    h("div", { class: "row" }, h("button", { onclick: () => saveTo(levels) }, "Save all to a set …")));
}

export async function saveTo(levels) {
  const folder = await get("folder");
  const name = h("input", { value: `${folder.home}/drawn.npz`, list: "sets", "aria-label": "Set" });
  const problem = h("p", { class: "bad", role: "alert" });
  const node = dialog(levels.length === 1 ? "Save to a set" : `Save ${many(levels.length)} to a set`,
    field("Set (.npz); made if it is not there", name),
    h("datalist", { id: "sets" }, folder.levels.filter(one => !one.damaged).map(one => h("option", { value: one.name }))), problem,
    h("div", { class: "row" }, h("button", { class: "main", id: "save", onclick: async () => {
      try {
        const told = await post("save", { set: name.value, levels });
        node.close();
        toast(`${short(told.set)} has ${many(told.levels)} now.`);
      } catch (error) { problem.textContent = error.message; }
    } }, "Save")));
}

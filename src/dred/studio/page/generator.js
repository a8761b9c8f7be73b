// The latent space of a fitted generator: a map of its levels, and what lies between two of them.

import { address, attempt, get, newest, post } from "./api.js";
import { Board, miniature, rowsOf } from "./board.js";
import { several, saveTo } from "./canvas.js";
import { COLOURS } from "./curves.js";
import { field, fill, h, number, options, short } from "./dom.js";
import { drawing } from "./drawing.js";

export async function show(view, query) {
  const { generator } = await get("folder");
  if (!generator.length) {
    view.append(h("div", { class: "empty" }, h("h1", {}, "No generator here yet"), h("p", {}, "Fit one to a set of levels in a terminal:"),
      h("pre", {}, "dred fit --levels train.npz --out vae")));
    return;
  }
  const name = query.get("generator") || generator[0].name;
  const choice = options(h("select", { onchange: () => { location.hash = `#generator?${new URLSearchParams({ generator: choice.value })}`; } }),
    generator.map(one => [one.name, short(one.name)]), name);
  const head = h("div", { class: "row" }, h("h1", {}, "Generator"), field("", choice));
  const wait = h("p", { class: "soft" }, "Reading the model …");
  view.append(head, wait);
  const told = await get("latent", { generator: name }).catch(error => { wait.className = "bad"; wait.textContent = error.message; });
  if (!told) return;
  wait.remove();
  if (told.points.length) return new Latent(view, name, told).leave;
  view.append(h("p", { class: "soft" }, `This kind of generator has no map: it has no latent space. It was fitted to ${told.structure.length} levels.`),
    h("section", { "aria-label": "New levels" }, sampler(name, told.modes)));
}

const MODES = { interpolate: "between pairs", reconstruct: "near levels", prior: "from the prior" };

/** New levels of a generator of any kind. */
function sampler(name, modes) {
  const mode = options(h("select", { "aria-label": "How to sample" }), modes.map(one => [one, MODES[one] || one]));
  const made = h("div", { class: "made" });
  const sample = async () => {
    const found = await post("sample", { generator: name, mode: mode.value, count: 12, seed: Math.floor(Math.random() * 2 ** 31) });
    fill(made, found.levels.map((text, place) => h("button", { class: "made-one", onclick: () => { drawing.set(rowsOf(text)); location.hash = "#canvas"; } },
      miniature(text, 104, `new level ${place}`), h("small", {}, found.solvable[place] ? "solvable" : "unsolvable"))));
    made.append(h("button", { onclick: () => attempt(() => saveTo(found.levels)) }, "Save all …"));
  };
  return h("div", {}, h("h3", {}, "New levels"),
    h("div", { class: "row" }, mode, h("button", { id: "sample", onclick: () => attempt(sample) }, "Sample 12")), made);
}

/** The level that is farthest from the first, so that there is something to see between them. */
function farthest(points) {
  const away = points.map(point => Math.hypot(point[0] - points[0][0], point[1] - points[0][1]));
  return away.indexOf(Math.max(...away));
}

class Latent {
  constructor(view, name, told) {
    Object.assign(this, { name, told, first: 0, second: farthest(told.points), share: 0.5, seed: 0, text: null, grabbed: null, hover: null });
    const kinds = [...new Set(told.structure)];
    this.colour = new Map(kinds.map((kind, place) => [kind, COLOURS[(place + 1) % COLOURS.length]]));
    this.map = h("canvas", { class: "map", id: "map", tabindex: 0, role: "application",
      "aria-label": `A map of ${told.points.length} levels. Drag from one point to another, then drag the handle between them.` });
    this.board = new Board(h("canvas", { role: "img", id: "between", "aria-label": "The level between" }));
    this.ends = [h("img", { alt: "" }), h("img", { alt: "" })];
    this.slider = h("input", { type: "range", min: 0, max: 1, step: 0.01, value: 0.5, id: "share", "aria-label": "How far from the first level to the second", oninput: () => this.move(Number(this.slider.value)) });
    this.inputs = ["first", "second"].map(end => h("input", { type: "number", min: 0, max: told.points.length - 1, value: this[end], "aria-label": `The ${end} level`,
      onchange: event => this.choose(end, Number(event.target.value)) }));
    this.said = h("p", { class: "status", role: "status", id: "made" }, "Decoding, the first time …");
    const side = h("section", { "aria-label": "Between two levels" },
      h("div", { class: "trio" }, h("figure", {}, this.ends[0]), h("figure", {}, this.board.canvas), h("figure", {}, this.ends[1])),
      this.slider, this.said, h("div", { class: "row" }, field("From level", this.inputs[0]), field("to level", this.inputs[1]),
        h("button", { onclick: () => { this.seed++; this.ask(); } }, "Other noise")),
      h("div", { class: "row", }, h("button", { class: "main", onclick: () => { if (this.text) { drawing.set(rowsOf(this.text)); location.hash = "#canvas"; } } }, "To the canvas"),
        h("button", { onclick: () => this.text && attempt(() => saveTo([this.text])) }, "Save to a set …"),
        h("button", { onclick: () => attempt(() => this.mutate()) }, "Mutate …")),
      sampler(name, told.modes));
    for (const row of side.querySelectorAll(".row")) row.style.marginTop = ".5rem";
    view.append(h("div", { class: "latent" }, h("div", {}, this.map,
      h("div", { class: "keys" }, kinds.slice(0, 24).map(kind => { const dot = h("i"); dot.style.background = this.colour.get(kind); return h("span", {}, dot, kind || "levels"); })),
      h("p", { class: "soft" }, `Two principal components of the latents, which have ${number(told.share, true)} of the variance.`)), side));
    this.ask = newest(() => post("between", { generator: name, first: this.first, second: this.second, share: this.share, seed: this.seed }), found => this.take(found));
    this.listen();
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(this.map);
    this.leave = () => observer.disconnect();
    this.choose("first", this.first);
  }

  listen() {
    const { map } = this;
    map.addEventListener("pointerdown", event => {
      map.setPointerCapture(event.pointerId);
      const handle = this.handle(), [x, y] = this.spot(event);
      if (Math.hypot(handle[0] - x, handle[1] - y) < 22) this.grabbed = "handle";
      else { this.grabbed = "second"; this.first = this.nearest(x, y); this.second = this.first; this.changed(); }
    });
    map.addEventListener("pointermove", event => {
      const [x, y] = this.spot(event);
      if (this.grabbed === "handle") {
        const [a, b] = [this.place(this.first), this.place(this.second)];
        const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
        this.move(Math.max(0, Math.min(1, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1))));
      } else if (this.grabbed) {
        const near = this.nearest(x, y);
        if (near !== this.second) { this.second = near; this.changed(); }
      } else { this.hover = this.nearest(x, y); this.draw(); }
    });
    for (const kind of ["pointerup", "pointercancel"]) map.addEventListener(kind, () => { this.grabbed = null; });
    map.addEventListener("keydown", event => {
      const step = { ArrowRight: 0.02, ArrowLeft: -0.02 }[event.key];
      if (step) { event.preventDefault(); this.move(Math.max(0, Math.min(1, this.share + step))); }
    });
  }

  choose(end, level) {
    this[end] = Math.max(0, Math.min(this.told.points.length - 1, level || 0));
    this.changed();
  }

  changed() {
    const size = 200, { set, digest } = this.told;
    [this.first, this.second].forEach((level, end) => {
      const source = address("picture", { set, level, size, digest });
      if (this.ends[end].getAttribute("src") !== source) this.ends[end].src = source;
      this.ends[end].alt = `level ${level}`;
      this.inputs[end].value = level;
    });
    this.move(this.share);
  }

  move(share) {
    this.share = share;
    this.slider.value = share;
    this.draw();
    this.ask();
  }

  take(found) {
    this.text = found.levels[0];
    this.board.rows = rowsOf(this.text);
    this.board.fit(300);
    this.said.className = `status ${found.solvable[0] ? "good" : "bad"}`;
    this.said.textContent = `${Math.round(100 * this.share)} % of the way from level ${this.first} to ${this.second}: ${found.solvable[0] ? "solvable" : "unsolvable"}`;
    this.board.canvas.setAttribute("aria-label", this.said.textContent);
    this.board.canvas.dataset.text = this.text;
  }

  spot(event) {
    const box = this.map.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  place(level) {
    const { points } = this.told;
    this.bounds ||= [0, 1].map(axis => { const all = points.map(point => point[axis]); return [Math.min(...all), Math.max(...all)]; });
    const size = [this.map.clientWidth, this.map.clientHeight];
    return [0, 1].map(axis => { const [low, high] = this.bounds[axis]; return 22 + (points[level][axis] - low) / (high - low || 1) * (size[axis] - 44); });
  }

  nearest(x, y) {
    let best = 0, least = Infinity;
    for (let level = 0; level < this.told.points.length; level++) {
      const [px, py] = this.place(level), away = (px - x) ** 2 + (py - y) ** 2;
      if (away < least) [best, least] = [level, away];
    }
    return best;
  }

  handle() {
    const [a, b] = [this.place(this.first), this.place(this.second)];
    return [a[0] + (b[0] - a[0]) * this.share, a[1] + (b[1] - a[1]) * this.share];
  }

  draw() {
    const { map } = this, ratio = devicePixelRatio || 1, pen = map.getContext("2d");
    if (!map.clientWidth) return;
    map.width = map.clientWidth * ratio;
    map.height = map.clientHeight * ratio;
    pen.scale(ratio, ratio);
    const ink = getComputedStyle(map).getPropertyValue("--ink"), accent = getComputedStyle(map).getPropertyValue("--accent");
    const disc = ([x, y], radius, colour) => { pen.fillStyle = colour; pen.beginPath(); pen.arc(x, y, radius, 0, 7); pen.fill(); };
    pen.globalAlpha = 0.75;
    this.told.points.forEach((_, level) => disc(this.place(level), 4, this.colour.get(this.told.structure[level])));
    pen.globalAlpha = 1;
    if (this.hover !== null) { pen.strokeStyle = ink; pen.lineWidth = 1.5; pen.beginPath(); pen.arc(...this.place(this.hover), 8, 0, 7); pen.stroke(); }
    const [a, b] = [this.place(this.first), this.place(this.second)];
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    pen.setLineDash([6, 5]);
    pen.beginPath(); pen.moveTo(...a); pen.lineTo(...b); pen.stroke();
    pen.setLineDash([]);
    for (const end of [a, b]) { disc(end, 8, ink); disc(end, 5, "#fff"); }
    Object.assign(map.dataset, { first: a, second: b, handle: this.handle() });
    disc(this.handle(), 12, accent);
    disc(this.handle(), 4.5, "#fff");
  }

  async mutate() {
    if (!this.text) return;
    const found = await post("mutate", { text: this.text, generator: this.name, count: 12, seed: this.seed });
    several("Near this level, by the generator", found.levels, found.solvable);
  }
}

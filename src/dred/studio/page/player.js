// An agent in the level on the canvas: play, pause, step, scrub; or keys of your own.

import { attempt, get, newest, post } from "./api.js";
import { Board } from "./board.js";
import { COLOURS, layers, trace } from "./curves.js";
import { facts, field, fill, h, number, options, short } from "./dom.js";
import { Memory } from "./memory.js";

const ACTIONS = ["turn left", "turn right", "forward", "wait"];
const ACTION_COLOURS = [1, 3, 2, 7].map(place => COLOURS[place]);
const OBJECTS = { 1: ".", 2: "#", 3: ",", 8: "G", 9: "~" };
const KEYS = { ArrowLeft: 0, ArrowRight: 1, ArrowUp: 2, a: 0, d: 1, w: 2 };

/** Left, right, forward; and all that do nothing, together. */
const sharesOf = chance => [...chance.slice(0, 3), chance.slice(3).reduce((sum, one) => sum + one, 0)];

export class Player {
  constructor(redraw, choose) {
    Object.assign(this, { redraw, choose, frames: [], at: 0, seed: 0, actions: [], heat: null, text: null, kind: "draw", timer: null });
    this.agent = h("select", { onchange: () => { this.known(); this.again(); } });
    this.memory = new Memory(() => this.again(), at => this.go(at));
    this.scrub = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment of the episode", oninput: () => { this.pause(); this.go(Number(this.scrub.value)); } });
    this.button = h("button", { class: "main", id: "play", onclick: () => this.timer ? this.pause() : this.play() }, "Play");
    this.speed = h("input", { type: "range", min: 1, max: 40, value: 8, "aria-label": "Steps a second" });
    this.said = h("p", { class: "status", role: "status", id: "episode" });
    this.view = h("canvas", { role: "img", "aria-label": "What the agent sees" });
    this.board = new Board(this.view, { ring: false });
    this.bars = h("div", { class: "bars", role: "group", "aria-label": "Probability of each action" });
    this.value = h("canvas", { class: "value", role: "img", "aria-label": "The return it expects", width: 600, height: 130, onclick: event => this.go(Math.round(event.offsetX / event.target.clientWidth * (this.frames.length - 1))) });
    this.mix = h("canvas", { class: "value", role: "img", "aria-label": "How probable each action is", width: 600, height: 100, onclick: event => this.go(Math.floor(event.offsetX / event.target.clientWidth * this.frames.length)) });
    this.tried = h("div", { id: "tried", "aria-live": "polite" });
    const step = by => () => { this.pause(); this.go(this.at + by); };
    this.watching = h("div", { class: "row" }, this.button, h("button", { onclick: step(-1), "aria-label": "One step back" }, "◀"),
      h("button", { onclick: step(1), "aria-label": "One step on", id: "step" }, "▶"),
      h("button", { onclick: () => this.again(this.seed + 1) }, "Another try"));
    this.walking = h("div", { class: "row" }, [["↰", 0, "Turn left"], ["↑", 2, "Walk"], ["↱", 1, "Turn right"]].map(([sign, action, words]) =>
      h("button", { onclick: () => this.act(action), "aria-label": words }, sign)),
      h("button", { onclick: () => { this.actions = []; this.again(); } }, "Again"),
      h("button", { onclick: () => this.handOver() }, "Let the agent go on"));
    this.pace = field("Speed", this.speed, "line");
    this.node = h("div", { class: "player", hidden: true }, field("Agent", this.agent), this.watching, this.walking, this.scrub,
      this.pace, this.said,
      h("div", { class: "mind" }, h("figure", {}, this.view, h("figcaption", {}, "what it sees")), this.bars),
      h("figure", {}, this.value, h("figcaption", {}, "the return it expects, along its way")),
      h("figure", {}, this.mix, h("figcaption", {}, "how probable each action is, along its way")), this.memory.node,
      h("button", { id: "tries", onclick: () => attempt(() => this.try64()) }, "Try 64 times"), this.tried);
    this.ask = newest(body => body && post("probe", body), (found, body) => this.take(found, body));
  }

  async load(chosen) {
    const { agents } = await get("agents");
    options(this.agent, agents.map(one => [one.name, short(one.label) || one.label]), chosen || agents.at(0)?.name);
    if (agents.some(one => one.name === "vae-dred") && !chosen) this.agent.value = "vae-dred";
    this.guessing = new Set(agents.filter(one => one.guesses).map(one => one.name));
    this.known();
  }

  known() { this.memory.agent(this.guessing.has(this.agent.value)); }

  /** The level has changed. */
  level(text, kind) {
    if (text === this.text) return;
    this.text = text;
    this.heat = null;
    this.actions = [];
    fill(this.tried);
    if (kind !== "draw") this.again();
  }

  mode(kind, text) {
    this.pause();
    this.kind = kind;
    this.pace.hidden = this.watching.hidden = kind !== "watch";
    this.walking.hidden = kind !== "walk";
    this.text = text;
    this.actions = [];
    if (kind !== "draw") this.again();
  }

  again(seed = this.seed) {
    this.seed = seed;
    this.goesOn = Boolean(this.timer);
    this.frames = [];
    if (!this.text) { this.said.textContent = "This is no level yet."; return this.redraw(); }
    this.ask({ text: this.text, agent: this.agent.value, seed, actions: this.actions, stops: this.kind === "walk" });
  }

  act(action) {
    if (this.over_ || !this.text) return;
    this.actions.push(action);
    const since = Math.max(0, this.frames.length - 1);  // what was before is known, but what is done then
    this.ask({ text: this.text, agent: this.agent.value, seed: this.seed, actions: [...this.actions], stops: true, since });
  }

  async handOver() {
    const actions = this.actions, seed = this.seed;
    this.choose("watch");
    this.actions = actions;
    this.again(seed);
    this.after = () => { this.go(actions.length); this.play(); };
  }

  take(found, body) {
    this.frames = [...this.frames.slice(0, found.since), ...found.frames];
    this.over_ = found.over;
    this.memory.ask(body, body.stops ? found.frames.length - 1 : 0);
    this.ending = !found.over ? "" : found.solved ? `It reached the goal in ${found.steps} steps: return ${number(found.returned)}.`
      : found.steps >= this.frames.length - 1 && found.steps > 200 ? `Out of time after ${found.steps} steps.` : `It ended without the goal after ${found.steps} steps.`;
    this.scrub.max = this.frames.length - 1;
    this.mix.setAttribute("aria-label", `How probable each action is, over ${this.frames.length} moments; the bars above have those of this one`);
    this.value.setAttribute("aria-label", `The expected return, from ${number(this.frames[0].value)} to ${number(this.frames.at(-1).value)}`);
    this.go(body.stops ? this.frames.length - 1 : 0);
    const after = this.after;
    this.after = null;
    if (after) after();
    else if (this.goesOn) this.play();
    this.goesOn = false;
  }

  go(at) {
    if (!this.frames.length) return;
    this.at = Math.max(0, Math.min(this.frames.length - 1, at));
    this.scrub.value = this.at;
    const frame = this.frames[this.at], last = this.at === this.frames.length - 1;
    this.said.textContent = `Step ${this.at} of ${this.frames.length - 1}. ${last ? this.ending : ""}`;
    const rows = frame.view.map(row => row.map(one => OBJECTS[one] || "."));
    this.board.rows = rows;
    this.board.over = { pose: [4, 2, 3] };
    this.board.fit(150);
    this.chances(frame);
    this.memory.show(this.at);
    this.values();
    this.redraw();
  }

  chances({ chance, action }) {
    const shares = sharesOf(chance);
    const done = action === null ? -1 : Math.min(action, 3);
    if (this.bars.children.length !== 4) fill(this.bars, ACTIONS.map((name, place) => {
      const bar = h("b");
      bar.style.background = ACTION_COLOURS[place];
      return h("div", { class: "chance" }, h("span", {}, name), h("i", {}, bar), h("output", {}, ""));
    }));
    shares.forEach((share, place) => {
      const node = this.bars.children[place];
      node.classList.toggle("done", place === done);
      node.querySelector("b").style.width = `${100 * share}%`;
      node.querySelector("output").textContent = `${Math.round(100 * share)} %`;
    });
  }

  values() {
    const values = this.frames.map(frame => frame.value);
    trace(this.value, values, this.at, [Math.min(0, ...values), Math.max(1, ...values)]);
    layers(this.mix, this.frames.map(frame => sharesOf(frame.chance)), this.at, ACTION_COLOURS);
  }

  play() {
    if (!this.frames.length) return;
    if (this.at === this.frames.length - 1) this.go(0);
    this.pause();
    this.button.textContent = "Pause";
    const on = () => {
      this.go(this.at + 1);
      if (this.at === this.frames.length - 1) return this.pause();
      this.timer = setTimeout(on, 1000 / this.speed.value);
    };
    this.timer = setTimeout(on, 1000 / this.speed.value);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.button.textContent = "Play";
  }

  async try64() {
    const found = await post("tries", { text: this.text, agent: this.agent.value, seed: this.seed });
    this.heat = found.visits;
    const hide = h("label", {}, h("input", { type: "checkbox", checked: true, onchange: event => { this.hidesHeat = !event.target.checked; this.redraw(); } }), "show where it went");
    this.hidesHeat = false;
    fill(this.tried, facts([["solved", number(found.solved, true)], ["steps, if solved", number(found.steps)]]), hide);
    this.redraw();
  }

  over() {
    if (!this.frames.length) return {};
    const { pose, seen } = this.frames[this.at];
    return { pose, seen, trail: true, path: this.frames.slice(0, this.at + 1).map(frame => frame.pose.slice(0, 2)), heat: this.hidesHeat ? null : this.heat };
  }

  key(event) {
    if (this.kind === "walk" && event.key in KEYS) { this.act(KEYS[event.key]); return true; }
    if (this.kind !== "watch" || event.target.matches("button")) return false;
    if (event.key === " ") this.button.click();
    else if (event.key === "ArrowRight") this.go(this.at + 1);
    else if (event.key === "ArrowLeft") this.go(this.at - 1);
    else return false;
    return true;
  }
}

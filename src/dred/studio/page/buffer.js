// The buffer of a run as it was last saved: P_Λ, a gallery, who came and went, ancestry, settings.

import { address, attempt, get, newest, post } from "./api.js";
import { bars } from "./curves.js";
import { field, fill, h, levels, number, options, short } from "./dom.js";
import { ancestry, numbered, pictureOf } from "./lineage.js";
import { openSet } from "./levels.js";

const RATIOS = [0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, Infinity];

export class Buffer {
  constructor(node) {
    Object.assign(this, { node, run: null, saved: undefined, opened: null, since: null });
    this.show = newest(one => this.turn(one), () => {});
    this.watch = new IntersectionObserver(([entry]) => {
      this.inSight = entry.isIntersecting;
      if (this.inSight && this.later) this.show(this.later);
    });
    this.watch.observe(node);
    this.leave = () => this.watch.disconnect();
  }

  /** Turn to a run; or, of the run that is shown, to what was saved since, once that is in sight. */
  async turn(one) {
    if (one.name !== this.run) await this.begin(one);
    else if (one.saved === this.saved) return;
    this.later = this.opened && !this.inSight ? one : null;
    if (this.later) return;
    this.saved = one.saved;
    if (one.saved === null) return;
    this.parts.hidden = false;
    this.none.hidden = true;
    if (!this.opened) this.words.textContent = "Reading the buffer …";
    await this.refresh().catch(error => { this.words.textContent = error.message; });
  }

  async begin(one) {
    Object.assign(this, { run: one.name, saved: undefined, opened: null, since: null });
    const told = await get("settings", { run: one.name });
    this.seed = options(h("select", { onchange: () => attempt(() => this.another()) }), one.seeds.map(seed => [String(seed), `seed ${seed}`]));
    this.words = h("p", { class: "soft", role: "status", id: "buffer-words" });
    this.charts = h("div", { class: "charts" });
    this.pane = h("div", { class: "pane" });
    this.from = h("select", { id: "since", onchange: () => { this.since = Number(this.from.value); attempt(() => this.turnover()); } });
    this.said = h("p", { role: "status", id: "turnover" });
    this.came = h("div", { class: "strip" });
    this.gone = h("div", { class: "strip" });
    this.number = h("input", { type: "number", min: 0, "aria-label": "Number of a level" });
    this.line = h("div", { class: "lineage" });
    this.none = h("p", { class: "soft" }, `${short(one.name)} has saved no buffer yet.`);
    const trace = () => ancestry(this.line, this.place(), this.number.value || 0);
    this.parts = h("div", { hidden: true },
      h("div", { class: "row spread" }, h("h2", {}, `The buffer of ${short(one.name)}`), field("Seed", this.seed)), this.words, this.charts,
      h("div", { class: "buffer" }, this.pane),
      h("div", { class: "row spread" }, h("h3", {}, "Entered and left"), field("Since update", this.from)), this.said,
      h("h4", {}, "Entered"), this.came, h("h4", {}, "Left"), this.gone,
      h("h3", {}, "Ancestry"), h("div", { class: "row" }, field("Of level number", this.number), h("button", { onclick: trace }, "Show")), this.line);
    fill(this.node, this.none, this.parts,
      h("details", { class: "card" }, h("summary", {}, "Settings"), h("pre", { id: "settings", tabindex: 0 }, `# ${told.command.join(" ")}\n\n${told.settings}`)));
  }

  place() { return { run: this.run, seed: Number(this.seed.value) }; }

  async another() {
    this.opened = this.since = null;
    await this.refresh();
  }

  async refresh() {
    const newest = numbered(this.run, this.seed.value);
    const { set, values } = await post("gallery", { set: newest, sort: "probability", descending: true });
    this.words.textContent = `After ${number(Number(set.split("@").pop()))} updates: ${levels(values.length)}, of which the most probable has ${number(values[0], true)} of all draws.`;
    fill(this.charts, byRank(values), histogram(values));
    if (this.opened) await this.opened(set);
    else this.opened = await openSet(this.pane, set, new URLSearchParams({ sort: "probability", descending: "1" }), `Levels of seed ${this.seed.value}`);
    await this.turnover();
  }

  async turnover() {
    const told = await get("turnover", { ...this.place(), ...(this.since === null ? {} : { since: this.since }) });
    this.since = told.since;
    options(this.from, told.updates.map(update => [String(update), String(update)]), String(told.since));
    const same = told.since === told.update;
    this.said.textContent = same ? "Nothing older is saved to compare with. Levels that come and go from now on are shown here."
      : `From update ${told.since} to ${told.update}, ${levels(told.entered)} entered and ${told.left} left.`;
    fill(this.came, told.came.map(one => this.tile(one, told.begun)));
    fill(this.gone, told.gone.map(one => this.tile(one, told.begun)));
  }

  tile(one, begun) {
    const from = one.parent >= 0 ? ` of ${one.parent}` : "";
    return h("button", { class: "made-one", "data-number": String(one.number), onclick: () => { this.number.value = one.number; ancestry(this.line, this.place(), one.number); } },
      h("img", { src: address("picture", pictureOf(one.set, begun, one.number, 96)), alt: `level ${one.number}`, width: 96, height: 96, loading: "lazy" }),
      h("small", {}, `${one.made_by}${from}`), h("small", {}, `no. ${one.number} · ${number(one.probability, true)}`));
  }
}

function byRank(values) {
  const some = values.slice(0, 100);
  return bars(`P_Λ: the ${some.length} most probable levels`, some.map((value, rank) => [String(rank + 1), value, number(value, true)]),
    { each: Math.max(1, Math.ceil(some.length / 8)), name: "rank" });
}

function histogram(values) {
  const words = ratio => ratio < 1 ? `1⁄${1 / ratio}` : `${ratio}`;
  const entries = RATIOS.slice(0, -1).map((low, place) => {
    const high = RATIOS[place + 1];
    const count = values.filter(value => value * values.length >= low && value * values.length < high).length;
    return [place === 0 ? `<${words(high)}` : high === Infinity ? `>${words(low)}` : words(low), count, levels(count)];
  });
  return bars("P_Λ: levels by probability, as multiples of the uniform", entries, { name: "histogram" });
}

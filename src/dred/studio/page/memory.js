// What an agent's memory tells about the level: which of its training levels it takes it for.

import { newest, post } from "./api.js";
import { miniature } from "./board.js";
import { trace } from "./curves.js";
import { fill, h, number } from "./dom.js";

export class Memory {
  constructor(again, go) {
    this.told = null;
    this.on = h("input", { type: "checkbox", id: "guess", onchange: () => { this.told = null; this.show(0); again(); } });
    this.picture = h("figure");
    this.words = h("p", { class: "soft", role: "status", id: "guessed" });
    this.curve = h("canvas", { class: "value", role: "img", "aria-label": "How sure it is", width: 600, height: 90,
      onclick: event => this.told && go(Math.round(event.offsetX / event.target.clientWidth * (this.told.frames.length - 1))) });
    this.found = h("div", { class: "mind", hidden: true }, this.picture, h("div", {}, this.words, this.curve));
    this.node = h("div", { hidden: true }, h("label", {}, this.on, "Guess the level from its memory"), this.found);
    this.ask_ = newest(body => body && post("guess", body), (found, body) => this.take(found, body));
  }

  /** Only agents of runs have levels to guess. */
  agent(guesses) {
    this.node.hidden = !guesses;
    this.told = null;
  }

  ask(body, at) {
    this.at = at;
    this.told = null;
    if (this.node.hidden || !this.on.checked) return this.show(at);
    this.words.textContent = "Fitting a linear classifier to its memory, the first time …";
    this.found.hidden = false;
    fill(this.picture);
    this.asked = body;
    this.ask_(body);
  }

  take(found, body) {
    if (body !== this.asked) return;
    this.told = found;
    this.show(this.at);
  }

  show(at) {
    this.at = at;
    if (!this.told) { if (!this.on.checked) this.found.hidden = true; return; }
    const { frames, texts, accuracy, among, known } = this.told;
    const frame = frames[Math.min(at, frames.length - 1)];
    const truth = known === null ? "" : frame.number === known ? " That is the level it is in." : ` It is in level ${known}, to which the memory gives ${number(frame.right, true)}.`;
    this.words.textContent = `Level ${frame.number} with ${number(frame.share, true)}.${truth} Of ${among} training levels, ${number(accuracy, true)} are guessed rightly.`;
    if (this.picture.dataset.level !== String(frame.number) || !this.picture.firstChild)
      fill(this.picture, miniature(texts[frame.number], 130, `Training level ${frame.number}`), h("figcaption", {}, "what it takes the level for"));
    this.picture.dataset.level = frame.number;
    trace(this.curve, frames.map(one => known === null ? one.share : one.right), at, [0, 1]);
    this.curve.setAttribute("aria-label", `How sure it is along its way, now ${number(frame.share, true)}`);
  }
}

// Thousands of levels, of which only those in sight are elements: at most 200 at once.

import { address } from "./api.js";
import { h, number } from "./dom.js";
import { pictureOf } from "./lineage.js";

const MOST = 90;  // tiles, of two elements each
const GAP = 10, CAPTION = 20;

export class Gallery {
  constructor(open) {
    this.open = open;
    this.spacer = h("div", { class: "spacer" });
    this.node = h("div", { class: "gallery", role: "group", tabindex: -1, onscroll: () => this.draw(),
      onkeydown: event => this.key(event) }, this.spacer);
    this.tiles = [];
    this.order = [];
    this.focus = 0;
    new ResizeObserver(() => this.layout()).observe(this.node);
  }

  show(set, told, sort, stay = false) {
    Object.assign(this, { set, order: told.order, numbers: told.numbers, begun: told.begun, values: told.values, digest: told.digest, sort,
      feature: told.features[sort] });
    this.focus = stay ? Math.min(this.focus, told.order.length - 1) : 0;
    this.node.setAttribute("aria-label", `${told.order.length} levels`);
    if (!stay) this.node.scrollTop = 0;
    this.layout();
  }

  layout() {
    const width = this.spacer.clientWidth, height = this.node.clientHeight;
    if (!width || !height) return;
    let side = width < 500 ? 92 : 116;
    const count = () => {
      this.columns = Math.max(1, Math.floor((width + GAP) / (side + GAP)));
      this.rows = Math.ceil(height / (side + CAPTION + GAP)) + 2;
      return this.columns * this.rows;
    };
    while (count() > MOST) side += 8;
    this.side = (width + GAP) / this.columns - GAP;
    this.step = this.side + CAPTION + GAP;
    this.spacer.style.height = `${Math.ceil(this.order.length / this.columns) * this.step}px`;
    this.draw();
  }

  draw() {
    if (!this.step) return;
    const first = Math.max(0, Math.floor(this.node.scrollTop / this.step) - (this.node.scrollTop > 0 ? 1 : 0)) * this.columns;
    const last = Math.min(this.order.length, first + this.columns * this.rows);
    const wanted = new Set();
    for (let place = first; place < last; place++) wanted.add(place);
    const free = this.tiles.filter(tile => !wanted.has(tile.place));
    const there = new Map(this.tiles.filter(tile => wanted.has(tile.place)).map(tile => [tile.place, tile]));
    for (const place of wanted) this.put(there.get(place) || free.pop() || this.add(), place);
    for (const tile of free) tile.node.remove();
    this.tiles = this.tiles.filter(tile => tile.node.isConnected);
  }

  add() {
    const picture = h("img", { alt: "", draggable: false });
    const tile = { node: h("button", { class: "tile", onclick: () => this.open(this.order[tile.place], tile.place),
      onfocus: () => { this.focus = tile.place; } }, picture), picture, place: -1, source: "" };
    this.spacer.append(tile.node);
    this.tiles.push(tile);
    return tile;
  }

  put(tile, place) {
    const level = this.order[place];
    const size = Math.ceil(this.side * Math.min(2, devicePixelRatio || 1));
    const source = address("picture", this.numbers ? pictureOf(this.set, this.begun, this.numbers[place], size) : { set: this.set, level, size, digest: this.digest });
    tile.place = place;
    tile.node.tabIndex = place === this.focus ? 0 : -1;
    tile.node.style.transform = `translate(${(place % this.columns) * (this.side + GAP)}px, ${Math.floor(place / this.columns) * this.step}px)`;
    tile.node.style.width = `${this.side}px`;
    tile.picture.style.height = `${this.side}px`;
    const value = this.values ? ` · ${number(this.values[place], this.feature.percent)}` : "";
    tile.node.dataset.caption = `${level}${value}`;
    tile.node.setAttribute("aria-label", `level ${level}${this.values ? `, ${this.feature.label}${value}` : ""}`);
    if (tile.source !== source) tile.picture.src = tile.source = source;
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns,
      PageDown: this.columns * (this.rows - 2), PageUp: -this.columns * (this.rows - 2),
      Home: -this.order.length, End: this.order.length }[event.key];
    if (!step || !this.order.length) return;
    event.preventDefault();
    this.focus = Math.max(0, Math.min(this.order.length - 1, this.focus + step));
    const top = Math.floor(this.focus / this.columns) * this.step;
    const height = this.node.clientHeight;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    if (top + this.step > this.node.scrollTop + height) this.node.scrollTop = top + this.step - height;
    this.draw();
    this.tiles.find(tile => tile.place === this.focus)?.node.focus({ preventScroll: true });
  }
}

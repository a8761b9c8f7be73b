// A level on a canvas, with what can be laid over it. Tiles are those of dred's own pictures.

import { address } from "./api.js";

export const SYMBOLS = "#.,~GS>v<^";
export const STARTS = "S>v<^";
const STRIP_CELL = 48;
const strip = new Image();
export const ready = new Promise(resolve => { strip.onload = resolve; });
strip.src = address("tiles", { cell: STRIP_CELL });

export const rowsOf = text => text.trim().split("\n").map(line => [...line.trim()]);
export const textOf = rows => rows.map(row => row.join("")).join("\n");

function stamp(pen, symbol, x, y, cell) {
  const place = SYMBOLS.indexOf(symbol);
  pen.drawImage(strip, place * STRIP_CELL, 0, STRIP_CELL, STRIP_CELL, x, y, cell, cell);
}

export class Board {
  constructor(canvas, { ring = true } = {}) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.ring = ring ? 1 : 0;
    this.rows = [];
    this.over = {};  // distances, path, seen, heat, pose, cursor, ghost, changed
    this.cell = 20;
    ready.then(() => this.draw());
  }

  show(rows, over = this.over) {
    this.rows = rows;
    this.over = over;
    this.draw();
  }

  /** Fit into so many CSS pixels. */
  fit(width, height = width) {
    const [tall, wide] = [this.rows.length + 2 * this.ring, this.rows[0].length + 2 * this.ring];
    const ratio = devicePixelRatio || 1;
    this.cell = Math.max(3, Math.floor(Math.min(width / wide, height / tall) * ratio));
    this.canvas.style.width = `${this.cell * wide / ratio}px`;
    this.canvas.style.aspectRatio = `${wide} / ${tall}`;  // also where there is less room
    this.draw();
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const size = box.width / (this.rows[0].length + 2 * this.ring);
    const row = Math.floor((event.clientY - box.top) / size) - this.ring;
    const column = Math.floor((event.clientX - box.left) / size) - this.ring;
    return row >= 0 && column >= 0 && row < this.rows.length && column < this.rows[0].length ? [row, column] : null;
  }

  draw() {
    if (!this.rows.length || !strip.complete) return;
    const { pen, cell, rows, ring } = this;
    const [tall, wide] = [rows.length + 2 * ring, rows[0].length + 2 * ring];
    if (this.canvas.width !== wide * cell || this.canvas.height !== tall * cell) {
      this.canvas.width = wide * cell;
      this.canvas.height = tall * cell;
    }
    pen.imageSmoothingQuality = "high";
    const pose = this.over.pose;
    for (let y = 0; y < tall; y++) for (let x = 0; x < wide; x++) {
      const symbol = (rows[y - ring] || [])[x - ring] || "#";
      stamp(pen, pose && STARTS.includes(symbol) ? "." : symbol, x * cell, y * cell, cell);
    }
    this.#heat();
    this.#distances();
    this.#seen();
    this.#path();
    if (pose) this.#agent(pose);
    this.#cursor();
  }

  #at(row, column) { return [(column + this.ring) * this.cell, (row + this.ring) * this.cell]; }

  #heat() {
    const heat = this.over.heat;
    if (!heat) return;
    heat.forEach((line, row) => line.forEach((share, column) => {
      if (!share) return;
      this.pen.fillStyle = `rgba(255, 77, 141, ${0.1 + 0.5 * share})`;
      this.pen.fillRect(...this.#at(row, column), this.cell, this.cell);
    }));
  }

  #distances() {
    const distances = this.over.distances;
    if (!distances) return;
    const { pen, cell } = this;
    const most = Math.max(1, ...distances.flat());
    pen.font = `600 ${Math.max(7, cell * 0.36)}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    distances.forEach((line, row) => line.forEach((steps, column) => {
      if (steps < 0 || "G".includes(this.rows[row]?.[column])) return;
      const [x, y] = this.#at(row, column);
      pen.fillStyle = `hsla(${200 + 120 * steps / most}, 85%, 60%, .42)`;
      pen.fillRect(x, y, cell, cell);
      if (cell < 16) return;
      pen.strokeStyle = "rgba(10, 10, 16, .75)";
      pen.lineWidth = cell * 0.07;
      pen.strokeText(steps, x + cell / 2, y + cell * 0.54);
      pen.fillStyle = "#fff";
      pen.fillText(steps, x + cell / 2, y + cell * 0.54);
    }));
  }

  #seen() {
    const wide = this.rows[0].length;
    this.pen.fillStyle = "rgba(255, 255, 255, .22)";
    for (const place of this.over.seen || [])
      this.pen.fillRect(...this.#at(Math.floor(place / wide), place % wide), this.cell, this.cell);
  }

  #path() {
    const path = this.over.path;
    if (!path || path.length < 2) return;
    const { pen, cell } = this;
    pen.beginPath();
    for (const [row, column] of path) {
      const [x, y] = this.#at(row, column);
      pen.lineTo(x + cell / 2, y + cell / 2);
    }
    pen.lineJoin = pen.lineCap = "round";
    pen.strokeStyle = "rgba(10, 10, 16, .6)";
    pen.lineWidth = cell * 0.2;
    pen.stroke();
    pen.strokeStyle = this.over.trail ? "#8fb7ff" : "#ffd84d";
    pen.lineWidth = cell * 0.11;
    pen.stroke();
  }

  #agent([row, column, heading]) {
    const { pen, cell } = this;
    const [x, y] = this.#at(row, column);
    pen.save();
    pen.translate(x + cell / 2, y + cell / 2);
    pen.rotate(heading * Math.PI / 2);
    pen.beginPath();
    for (const angle of [0, 0.78, -0.78].map(turn => turn * Math.PI))
      pen.lineTo(Math.cos(angle) * cell * 0.42, Math.sin(angle) * cell * 0.42);
    pen.closePath();
    pen.fillStyle = "#4285f4";
    pen.strokeStyle = "#fff";
    pen.lineWidth = cell * 0.06;
    pen.fill();
    pen.stroke();
    pen.restore();
  }

  #cursor() {
    for (const [place, colour] of [...(this.over.ghost || []).map(one => [one, "rgba(255,255,255,.85)"]), ...(this.over.changed || []).map(one => [one, "#ff4d8d"]),
      ...(this.over.cursor ? [[this.over.cursor, "#ff4d8d"]] : [])]) {
      this.pen.strokeStyle = colour;
      this.pen.lineWidth = Math.max(2, this.cell * 0.08);
      this.pen.strokeRect(...this.#at(...place).map(one => one + 1), this.cell - 2, this.cell - 2);
    }
  }
}

/** A small picture of a drawing. */
export function miniature(text, size, label, over = {}) {
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const board = new Board(canvas);
  board.rows = rowsOf(text);
  board.over = over;
  board.fit(size);
  return canvas;
}

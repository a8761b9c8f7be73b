// The drawing on the canvas: shared by all views, kept over a reload, with every change undoable.

import { rowsOf, STARTS, textOf } from "./board.js";

const KEPT = "dred-drawing";
const FIRST = `#........#.##
#.###.####,##
#..,..,,,G,##
#.#,#####,###
#S....,,,,,,.
~###.#####,##
...#...,.#,.,
#..####..#.#,
#........#.#.
#...#.#~.#.#.
#..#~..~.#.#.
~......#.#.#.
..~####~.#...`;
export const emptyRoom = (height, width) =>
  Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) =>
    row === 0 && column === 0 ? "S" : row === height - 1 && column === width - 1 ? "G" : "."));

class Drawing extends EventTarget {
  constructor() {
    super();
    this.past = [];
    this.future = [];
    this.version = 0;
    const kept = sessionStorage.getItem(KEPT);
    this.rows = rowsOf(kept || FIRST);
  }

  get text() { return textOf(this.rows); }

  set(rows) {
    this.remember();
    this.rows = rows;
    this.changed();
  }

  remember() {
    this.past.push(this.rows.map(row => [...row]));
    this.past.splice(0, this.past.length - 500);
    this.future = [];
  }

  changed() {
    this.version++;
    sessionStorage.setItem(KEPT, this.text);
    this.dispatchEvent(new Event("change"));
  }

  /** Put a symbol on cells; start and goal move, they are not copied. */
  paint(cells, symbol) {
    const moves = symbol === "G" ? "G" : STARTS.includes(symbol) ? STARTS : "";
    const [height, width] = [this.rows.length, this.rows[0].length];
    if (moves) {
      cells = cells.slice(0, 1);
      for (let y = 0; y < height; y++) for (let x = 0; x < width; x++)
        if (moves.includes(this.rows[y][x])) this.rows[y][x] = ".";
    }
    for (const [row, column] of cells) this.rows[row][column] = symbol;
    this.changed();
  }

  step(from, to) {
    if (!from.length) return;
    to.push(this.rows);
    this.rows = from.pop();
    this.changed();
  }

  undo() { this.step(this.past, this.future); }
  redo() { this.step(this.future, this.past); }
}

export const drawing = new Drawing();

/** The same cell mirrored as the brush says. */
export function mirrored([row, column], height, width, symmetry) {
  const cells = [[row, column]];
  if (symmetry === "left-right" || symmetry === "both") cells.push([row, width - 1 - column]);
  if (symmetry === "top-bottom" || symmetry === "both") cells.push([height - 1 - row, column]);
  if (symmetry === "both" || symmetry === "turn") cells.push([height - 1 - row, width - 1 - column]);
  return cells;
}

/** All cells on the line between two, so that quick strokes have no holes. */
export function line([row, column], [toRow, toColumn]) {
  const steps = Math.max(Math.abs(toRow - row), Math.abs(toColumn - column), 1);
  return Array.from({ length: steps + 1 }, (_, i) => [
    Math.round(row + (toRow - row) * i / steps), Math.round(column + (toColumn - column) * i / steps)]);
}

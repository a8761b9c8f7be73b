// Where a level of a buffer comes from: the levels it was made from, and what each change changed.

import { attempt, get } from "./api.js";
import { miniature, rowsOf } from "./board.js";
import { fill, h } from "./dom.js";

/** The run and the seed in the name of a buffer; null for other sets. */
export function bufferIn(set) {
  const found = /^(.*)::buffer-(\d+)(?:@\d+)?$/.exec(set);
  return found && { run: found[1], seed: Number(found[2]) };
}

export const numbered = (run, seed) => `${run}::buffer-${seed}`;

/** What to ask for a picture of a level in a buffer: the same after every update, so that it is asked for once. */
export function pictureOf(set, begun, number, size) {
  const { run, seed } = bufferIn(set);
  return { set: numbered(run, seed), number, size, digest: begun };
}

function changedCells(before, after) {
  const [old, now] = [rowsOf(before), rowsOf(after)];
  if (old.length !== now.length || old[0].length !== now[0].length) return [];
  return now.flatMap((line, row) => line.flatMap((symbol, column) => symbol === old[row][column] ? [] : [[row, column]]));
}

export function ancestry(node, { run, seed }, number) {
  return attempt(async () => {
    const { line } = await get("lineage", { run, seed, number });
    if (!line.length) return fill(node, h("p", { class: "soft" }, "No level of this number is on record."));
    const parts = line.flatMap((level, place) => {
      const before = place ? line[place - 1].text : null;
      const changed = before && level.text ? changedCells(before, level.text) : [];
      const words = place && before ? `, ${changed.length} cells changed` : "";
      return [place ? h("span", { "aria-hidden": "true" }, "→") : null,
        h("figure", { class: "made-one" }, level.text ? miniature(level.text, 110, `level ${level.number}`, { changed }) : null,
          h("figcaption", {}, `${level.made_by} · ${level.number}${words}`))];
    });
    fill(node, h("p", { class: "soft" }, line.length > 1 ? "From its first known ancestor; cells that changed are outlined." : "It was not made from another level that is on record."), parts);
  });
}

// Small charts of what was measured in training, one for each metric, all runs in each.

import { h, number } from "./dom.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 320, HEIGHT = 150, LEFT = 38, RIGHT = 6, TOP = 12, BOTTOM = 20;
export const COLOURS = ["#d6336c", "#3b82c4", "#4f9a3d", "#cf6a1c", "#8f6cc9", "#1f9a8c", "#a38400", "#808691"];

function s(tag, props, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** `lines`: [{colour, points: [[update, value], …]}]. */
export function chart(metric, lines, { total, percent = metric.percent } = {}) {
  const points = lines.flatMap(line => line.points);
  if (!points.length) return null;
  const values = points.map(([, value]) => value);
  let low = Math.min(...values), high = Math.max(...values);
  if (percent) [low, high] = [Math.min(0, low), 1];
  else if (low > 0) low = Math.min(low, 0.5 * low);
  if (high - low < 1e-9) [low, high] = [low - 0.5, high + 0.5];
  const end = Math.max(1, total || 0, ...points.map(([update]) => update));
  const x = update => LEFT + update / end * (WIDTH - LEFT - RIGHT);
  const y = value => TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM);
  const words = value => number(value, percent).replace(".0 %", " %");
  const latest = lines.filter(line => line.points.length).map(line => words(line.points.at(-1)[1]));
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${metric.title}: now ${latest.join(", ")}` },
    ...[low, (low + high) / 2, high].flatMap(value => [
      s("line", { class: "rule", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 5, y: y(value) + 3, "text-anchor": "end" }, words(value))]),
    s("text", { x: LEFT, y: HEIGHT - 5 }, "0"),
    s("text", { x: WIDTH - RIGHT, y: HEIGHT - 5, "text-anchor": "end" }, `${number(end)} updates`),
    ...lines.map(line => s("polyline", { stroke: line.colour, points: line.points.map(([u, v]) => `${x(u).toFixed(1)},${y(v).toFixed(1)}`).join(" ") })),
    ...lines.filter(line => line.points.length).map(line =>
      s("circle", { cx: x(line.points.at(-1)[0]), cy: y(line.points.at(-1)[1]), r: 3, fill: line.colour })));
  return h("figure", { class: "chart", title: metric.plain || "", "data-metric": metric.name },
    h("h3", {}, metric.title, h("output", {}, latest.slice(0, 3).join(" · "))), picture);
}

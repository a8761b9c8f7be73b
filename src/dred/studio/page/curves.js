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

/** A line over the moments of an episode, with a dot at one of them; rules at 0 and 1. */
export function trace(canvas, values, at, [low, high]) {
  const pen = canvas.getContext("2d"), { width, height } = canvas;
  const look = getComputedStyle(canvas);
  const x = i => 8 + i / Math.max(1, values.length - 1) * (width - 16), y = v => 10 + (high - v) / (high - low) * (height - 20);
  pen.clearRect(0, 0, width, height);
  pen.strokeStyle = look.getPropertyValue("--line");
  pen.lineWidth = 2;
  for (const v of [0, 1]) { pen.beginPath(); pen.moveTo(0, y(v)); pen.lineTo(width, y(v)); pen.stroke(); }
  pen.strokeStyle = look.getPropertyValue("--accent");
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.beginPath();
  values.forEach((v, i) => pen.lineTo(x(i), y(v)));
  pen.stroke();
  pen.fillStyle = look.getPropertyValue("--ink");
  pen.beginPath();
  pen.arc(x(at), y(values[at] ?? low), 8, 0, 7);
  pen.fill();
}

/** Shares that add up to 1 over the moments of an episode, one above the other, with a line at one moment. */
export function layers(canvas, moments, at, colours) {
  const pen = canvas.getContext("2d"), { width, height } = canvas;
  const wide = (width - 16) / moments.length;
  pen.clearRect(0, 0, width, height);
  moments.forEach((shares, i) => {
    let top = 6;
    shares.forEach((share, kind) => {
      pen.fillStyle = colours[kind];
      pen.fillRect(8 + i * wide, top, wide + 0.5, share * (height - 12));
      top += share * (height - 12);
    });
  });
  pen.strokeStyle = getComputedStyle(canvas).getPropertyValue("--ink");
  pen.lineWidth = 3;
  pen.strokeRect(8 + at * wide, 2, Math.max(wide, 3), height - 4);
}

/** Bars: `entries` are [label, height, words]; every `each`th label is written. */
export function bars(title, entries, { each = 1, name = "" } = {}) {
  const most = Math.max(...entries.map(([, value]) => value)) || 1, wide = (WIDTH - 8) / entries.length;
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${title}: ${entries.slice(0, 12).map(([label, , words]) => `${label} ${words}`).join(", ")}` },
    ...entries.flatMap(([label, value, words], place) => {
      const tall = value / most * (HEIGHT - TOP - BOTTOM), left = 4 + place * wide;
      const bar = s("rect", { x: left + wide * 0.08, width: wide * 0.84, y: HEIGHT - BOTTOM - tall, height: tall, fill: COLOURS[0] }, s("title", {}, `${label}: ${words}`));
      return place % each ? [bar] : [bar, s("text", { x: left + wide / 2, y: HEIGHT - 5, "text-anchor": "middle" }, label)];
    }));
  return h("figure", { class: "chart", "data-bars": name }, h("h3", {}, title), picture);
}

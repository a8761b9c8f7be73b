// Elements, made from plain data: text is always text, never markup.

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name in node && !["list", "form", "role"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

export const fill = (node, ...children) => (node.replaceChildren(...children.flat().filter(Boolean)), node);

export function options(select, entries, chosen) {
  fill(select, entries.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
  return select;
}

export const field = (label, control, extra = "") =>
  h("label", { class: `field ${extra}` }, h("span", {}, label), control);

export function toast(text, kind = "") {
  const node = h("div", { class: `toast ${kind}` }, text,
    h("button", { class: "plain", onclick: () => node.remove(), "aria-label": "Close" }, "×"));
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), kind === "bad" ? 12000 : 4000);
}

export const short = name => name.split("/").slice(1).join("/") || name;

export function number(value, percent = false) {
  if (value === null || value === undefined) return "–";
  if (percent) return `${(100 * value).toFixed(Math.abs(value) < 0.01 && value ? 2 : 1)} %`;
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(3);
}

export const levels = count => `${count.toLocaleString("en")} level${count === 1 ? "" : "s"}`;

export function facts(entries) {
  return h("dl", { class: "facts" }, entries.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A dialog that closes by Escape, its button, or a click beside it. */
export function dialog(title, ...content) {
  const node = h("dialog", { "aria-label": title, onclick: event => event.target === node && node.close(),
    onclose: () => node.remove() },
    h("div", { class: "sheet" },
      h("div", { class: "row spread" }, h("h2", {}, title),
        h("button", { class: "plain", onclick: () => node.close(), "aria-label": "Close" }, "×")),
      ...content));
  document.body.append(node);
  node.showModal();
  return node;
}

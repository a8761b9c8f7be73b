// The frame: which view is shown, by the part of the address after #, and light or dark.

import { attempt } from "./api.js";
import { fill } from "./dom.js";

const VIEWS = ["levels", "canvas", "generator", "runs", "reports"];
const view = document.getElementById("view");
let leave = () => {};
let shown = 0;

async function show() {
  const [said, query] = location.hash.slice(1).split("?");
  const name = VIEWS.includes(said) ? said : "levels";
  const mine = ++shown;
  for (const link of document.querySelectorAll("nav a"))
    link.hash === `#${name}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const module = await import(`./${name}.js`);
  if (mine !== shown) return;
  leave();
  leave = () => {};
  fill(view);
  view.className = name;
  document.title = `${name} · dred studio`;
  const gone = await attempt(() => module.show(view, new URLSearchParams(query)));
  if (mine === shown) leave = gone || (() => {});
  else if (gone) gone();
  view.dataset.ready = name;
}

const THEMES = ["", "light", "dark"];
const root = document.documentElement;
root.dataset.theme = localStorage.getItem("dred-theme") || "";
const button = document.getElementById("theme");
const named = () => button.setAttribute("aria-label", `Colours: ${root.dataset.theme || "as the system has them"}`);
named();
button.addEventListener("click", () => {
  root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  localStorage.setItem("dred-theme", root.dataset.theme);
  named();
});
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); view.focus(); });
addEventListener("hashchange", async () => { await show(); view.focus({ preventScroll: true }); });
show();

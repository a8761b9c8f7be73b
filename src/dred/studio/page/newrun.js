// The dialog that starts a run, with all the settings it will have.

import { get, newest, post } from "./api.js";
import { dialog, field, h, options, short } from "./dom.js";

/** The name of a run folder that is not there yet. */
function free(method, folder) {
  const taken = new Set(folder.run.map(one => one.name)), first = `${folder.home}/runs/${method}`;
  let name = first;
  for (let next = 2; taken.has(name); next++) name = `${first}-${next}`;
  return name;
}

export async function newRun(look) {
  const [folder, choices] = await Promise.all([get("folder"), get("choices")]);
  const sets = folder.levels.filter(one => !one.damaged && (!one.task || one.task === "gridworld")).map(one => [one.name, short(one.name)]);
  if (!sets.length) {
    dialog("Train a new run", h("p", {}, "There are no levels here to train on. Draw some on the ", h("a", { href: "#canvas", onclick: event => event.target.closest("dialog").close() }, "canvas"), ", or make a set in a terminal:"),
      h("pre", {}, "dred levels make cave-escape-train --out train.npz"));
    return;
  }
  const pick = entries => options(h("select", { onchange: () => preview() }), entries);
  const parts = {
    method: pick(choices.methods.map(name => [name, name])), levels: pick(sets), generator: pick([["", "none"], ...folder.generator.map(one => [one.name, short(one.name)])]),
    held_out: pick([["", "none"], ...sets]), preset: options(h("select", { onchange: () => preview() }), choices.presets.map(name => [name, name]), "laptop"),
    updates: h("input", { type: "number", min: 1, placeholder: "as the preset", oninput: () => preview() }), seed: h("input", { type: "number", min: 0, value: 0 }),
    out: h("input", { value: free(choices.methods[0], folder) }),
    changes: h("input", { placeholder: "ppo.epochs=3 method.eta.end=0.5", spellcheck: false, oninput: () => preview() }),
  };
  parts.method.addEventListener("change", () => { parts.out.value = free(parts.method.value, folder); });
  const problem = h("p", { class: "bad", role: "alert" }), settings = h("pre", { id: "preview", tabindex: 0, "aria-label": "All settings" }, "…");
  const body = () => {
    const found = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.value]).filter(([, value]) => value !== ""));
    for (const name of ["updates", "seed"]) if (name in found) found[name] = Number(found[name]);
    return found;
  };
  const ask = newest(async given => { try { return await post("preview", given); } catch (error) { return { problem: error.message }; } },
    found => { problem.textContent = found.problem || ""; if (!found.problem) settings.textContent = found.settings; });
  const preview = () => ask(body());
  const node = dialog("Train a new run", h("div", { class: "form" }, field("Method", parts.method), field("Levels", parts.levels), field("Generator, for vae-dred", parts.generator),
    field("Held-out levels", parts.held_out), field("Preset", parts.preset), field("Updates", parts.updates), field("Seed", parts.seed), field("Run folder", parts.out),
    field("Other settings", parts.changes, "wide")),
    h("details", {}, h("summary", {}, "All settings of this run"), settings), problem,
    h("p", { class: "soft" }, "The same as `dred train` in a terminal; one run at a time. It goes on while this page is closed, and ends with the studio."),
    h("button", { class: "main", id: "start", onclick: async () => {
      try { await post("train", body()); node.close(); await look(); } catch (error) { problem.textContent = error.message; }
    } }, "Start"));
  preview();
}

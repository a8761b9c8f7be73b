// Pages that `dred report` and `dred study` wrote, inside a frame in which they may do nothing.

import { address, get } from "./api.js";
import { field, h, options, short } from "./dom.js";

export async function show(view, query) {
  const { report } = await get("folder");
  if (!report.length) {
    view.append(h("div", { class: "empty" }, h("h1", {}, "No reports here yet"),
      h("p", {}, "Evaluate some runs and compare them in a terminal:"), h("pre", {}, "dred evaluate runs/a\ndred report runs/a runs/b --out report")));
    return;
  }
  const chosen = query.get("report") || report[0].name;
  const frame = h("iframe", { title: `Report ${short(chosen)}`, sandbox: "", src: address("report", { report: chosen }) });
  const choice = options(h("select", { onchange: () => { location.hash = `#reports?${new URLSearchParams({ report: choice.value })}`; } }),
    report.map(one => [one.name, short(one.name)]), chosen);
  view.append(h("div", { class: "row spread" }, field("Report", choice),
    h("a", { href: address("report", { report: chosen }), target: "_blank", rel: "noreferrer" }, "In a tab of its own")), frame);
}

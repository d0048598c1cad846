// What the colours and marks stand for; only those that are there.

import { drawn, most } from "./arcs";
import { make } from "./dom";
import type { Shown } from "./shown";
import type { State, View } from "./state";
import { percent } from "./visible";

export function legend(parent: Element, shown: Shown, view: View, state: State): void {
  const { map } = shown;
  const box = make("div", parent, { class: "legend" });
  const scale = make("span", box, { text: "0" });
  make("span", scale, { class: view === "picture" ? "bar over" : "bar" });
  const ends = { row: "the largest weight of its row", full: "100%", all: `${percent(shown.top)}, ${shown.even ? "twice an even share" : "the largest weight"}` };
  scale.append(ends[state.scale]);
  if (view !== "panels" && view !== "picture" && view !== "sound" && map.rows.length && map.columns.length) make("span", box, { text: "figures are percent" });
  if (state.top) make("span", box, { text: `only the ${state.top} largest of each row` });
  if (shown.links.size) {
    const known = make("span", box);
    make("span", known, { class: "frame" });
    known.append("true link");
  }
  if ([...map.rows, ...map.columns].some((token) => token.out)) make("span", box, { class: "out", text: "(word) was not selected" });
  if (shown.breaks.length) {
    const begins = make("span", box);
    make("span", begins, { class: "between" });
    begins.append("another input begins");
  }
  const arcs = view === "arcs" ? drawn(shown) : 0;
  if (arcs > most) make("span", box, { text: `the ${most} strongest of ${arcs} arcs` });
}

// What can be chosen: the item, the gaze, the view, and how it is shown.

import { named } from "./answer";
import { button, choice, make, tick } from "./dom";
import type { Doing } from "./figure";
import type { State, View } from "./state";
import type { Gaze, Item, Scene } from "./types";

const titles: Record<View, string> = { matrix: "Matrix", arcs: "Arcs", text: "Text", panels: "Panels", steps: "Steps" };
const several = { heads: "Heads", features: "Features", rows: "Rows", layers: "Layers" };

const key = (element: HTMLElement, name: string): void => element.setAttribute("data-key", name);

export function items(parent: Element, scene: Scene, state: State, doing: Doing): void {
  if (scene.items.length < 2) return;
  const box = make("div", parent, { class: "items" });
  const go = (item: number): void => doing.change({ item, gaze: 0, panel: 0, pin: null, step: 0 });
  const options = scene.items.map((item, i) => ({ text: named(item, i), value: String(i) }));
  key(button(box, "‹", () => go(Math.max(0, state.item - 1)), { "aria-label": "previous ([)", title: "previous ([)" }), "before");
  key(button(box, "›", () => go(Math.min(scene.items.length - 1, state.item + 1)), { "aria-label": "next (])", title: "next (])" }), "after");
  key(choice(box, "Example", options, String(state.item), (value) => go(Number(value))), "item");
  const others = options.filter((_, i) => i !== state.item);
  const value = state.with === null ? "" : String(state.with);
  const compare = choice(box, "Compare with", [{ text: "nothing", value: "" }, ...others], value, (chosen) =>
    doing.change({ with: chosen ? Number(chosen) : null }));
  key(compare, "with");
}

const called = (gaze: Gaze, item: Item, index: number): string =>
  index === 0 && item.inputs.length ? "the answer" : gaze.title || `gaze ${index + 1}`;

export function controls(parent: Element, item: Item, state: State, seen: { view: View; can: View[]; gaze: Gaze }, doing: Doing): void {
  const box = make("div", parent, { class: "controls" });
  const tabs = make("div", box, { class: "tabs", role: "group", "aria-label": "view" });
  seen.can.forEach((view, i) => {
    const text = view === "panels" ? several[seen.gaze.kind] : titles[view];
    button(tabs, text, () => doing.change({ view }), {
      "aria-pressed": String(view === seen.view), "data-key": `view-${view}`, "data-view": view, title: `${text} (${i + 1})`,
    });
  });
  const more = make("div", box, { class: "options" });
  if (item.gazes.length > 1) {
    const options = item.gazes.map((gaze, i) => ({ text: called(gaze, item, i), value: String(i) }));
    key(choice(more, "Look of", options, String(Math.min(state.gaze, item.gazes.length - 1)), (value) =>
      doing.change({ gaze: Number(value), panel: 0, pin: null, view: null })), "gaze");
  }
  const { names, kind } = seen.gaze;
  if (names.length > 1 && seen.view !== "panels") {
    const options = names.map((text, i) => ({ text, value: String(i) }));
    const now = String(Math.min(state.panel, names.length - 1));
    key(choice(more, several[kind].replace(/s$/, ""), options, now, (value) => doing.change({ panel: Number(value) })), "panel");
  }
  const tops = [0, 1, 2, 3, 5, 10].map((n) => ({ text: n ? `top ${n}` : "all", value: String(n) }));
  if (!tops.some((one) => one.value === String(state.top))) tops.push({ text: `top ${state.top}`, value: String(state.top) });
  key(choice(more, "Weights", tops, String(state.top), (value) => doing.change({ top: Number(value) })), "top");
  const scales = [{ text: "one for all", value: "all" }, { text: "one a row", value: "row" }];
  key(choice(more, "Scale", scales, state.scale, (value) => doing.change({ scale: value === "row" ? "row" : "all" })), "scale");
  if ([...seen.gaze.rows, ...seen.gaze.columns].some((token) => token.special)) {
    key(tick(more, "Hide special tokens", state.hide, (hide) => doing.change({ hide })), "hide");
  }
}

export function saving(parent: Element, acts: Record<string, () => void>): void {
  const box = make("div", parent, { class: "saving", role: "group", "aria-label": "save" });
  make("span", box, { class: "note", text: "Save as" });
  for (const [name, act] of Object.entries(acts)) button(box, name, act, { "data-key": `save-${name}` });
}


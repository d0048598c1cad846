// What can be chosen: the item, the map, the view, and how it is shown.

import { named } from "./answer";
import { button, choice, make, tick } from "./dom";
import type { Doing, Seen } from "./figure";
import type { State, View } from "./state";
import type { AttentionMap, Item, Scene } from "./types";

const titles: Record<View, string> = { picture: "Picture", sound: "Sound", matrix: "Matrix", arcs: "Arcs", text: "Text", panels: "Panels", steps: "Steps" };
const several = { heads: "Heads", features: "Features", rows: "Rows", layers: "Layers" };

const key = (element: HTMLElement, name: string): void => element.setAttribute("data-key", name);

export function items(parent: Element, scene: Scene, state: State, doing: Doing): void {
  if (scene.items.length < 2) return;
  const box = make("div", parent, { class: "items" });
  const go = (item: number): void => doing.change({ item, map: 0, panel: 0, pin: null, step: 0 });
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

const called = (map: AttentionMap, item: Item, index: number): string =>
  index === 0 && item.inputs.length ? "the answer" : map.title || `map ${index + 1}`;

export function views(parent: Element, seen: Seen, doing: Doing): void {
  const tabs = make("div", parent, { class: "tabs", role: "group", "aria-label": "view" });
  seen.can.forEach((view, i) => {
    const text = view === "panels" ? several[seen.map.panels] : titles[view];
    button(tabs, text, () => doing.change({ view }), {
      "aria-pressed": String(view === seen.view), "data-key": `view-${view}`, "data-view": view, title: `${text} (${i + 1})`,
    });
  });
}

export function options(parent: Element, item: Item, state: State, seen: Seen, doing: Doing): void {
  const more = make("div", parent, { class: "options" });
  if (item.maps.length > 1) {
    const options = item.maps.map((map, i) => ({ text: called(map, item, i), value: String(i) }));
    key(choice(more, "Attention of", options, String(Math.min(state.map, item.maps.length - 1)), (value) =>
      doing.change({ map: Number(value), panel: 0, pin: null, view: null })), "map");
  }
  const { names, panels } = seen.map;
  if (seen.map.grid && seen.view === "panels") return; // its pictures are as they are
  if (names.length > 1 && seen.view !== "panels" && !(seen.view === "picture" && seen.map.rows.length === 1)) {
    const options = names.map((text, i) => ({ text, value: String(i) }));
    const now = String(Math.min(state.panel, names.length - 1));
    key(choice(more, several[panels].replace(/s$/, ""), options, now, (value) => doing.change({ panel: Number(value) })), "panel");
  }
  const tops = [0, 1, 2, 3, 5, 10].map((n) => ({ text: n ? `top ${n}` : "all", value: String(n) }));
  if (!tops.some((one) => one.value === String(state.top))) tops.push({ text: `top ${state.top}`, value: String(state.top) });
  key(choice(more, "Weights", tops, String(state.top), (value) => doing.change({ top: Number(value) })), "top");
  const scales = [{ text: "one for all", value: "all" }, { text: "one per row", value: "row" }, { text: "0 to 100%", value: "full" }];
  key(choice(more, "Scale", scales, state.scale, (value) => doing.change({ scale: value as State["scale"] })), "scale");
  if (seen.view === "picture") key(tick(more, "Smooth", state.smooth, (smooth) => doing.change({ smooth })), "smooth");
  if ([...seen.map.rows, ...seen.map.columns].some((token) => token.special)) {
    key(tick(more, "Hide special tokens", state.hide, (hide) => doing.change({ hide })), "hide");
  }
}

// Folded away where there is little room; elsewhere its summary is not shown.
export function fold(parent: Element, name: string, open: boolean, act: (open: boolean) => void = () => undefined): HTMLDetailsElement {
  const box = make("details", parent, { class: "fold", open });
  const summary = make("summary", box, { text: name, "data-key": `fold-${name}` });
  summary.addEventListener("click", () => act(!box.open)); // at once; the event "toggle" comes later
  return box;
}

export function saving(parent: Element, acts: Record<string, () => void>): void {
  const box = make("div", parent, { class: "saving", role: "group", "aria-label": "save" });
  make("span", box, { class: "note", text: "Save as" });
  for (const [name, act] of Object.entries(acts)) button(box, name, act, { "data-key": `save-${name}` });
}


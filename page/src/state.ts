// What is shown and how. It lives in the address behind the #, so that a link shares the view.

import type { Place } from "./types";

export const views = ["picture", "sound", "matrix", "arcs", "text", "panels", "steps"] as const;
const scales = ["all", "row", "full"] as const;
export type View = (typeof views)[number];

export interface State {
  item: number;
  map: number;
  view: View | null; // null: what suits the map
  panel: number;
  pin: Place | null;
  step: number;
  hide: boolean; // special tokens
  top: number; // of each row only so many; 0 for all
  scale: "all" | "row" | "full";
  smooth: boolean; // weights over a picture, instead of blocks
  end?: number; // of the colours at least, where two stand side by side
  with: number | null; // the item beside it
  run: string; // live: what was asked, to be asked again
  ask: string[];
  beam: number | null;
  drop_tokens: number[][];
  layers: string | null;
  features: number | null;
  find: number; // what heads are searched for, from 1; 0: nothing
}

export const first: State = {
  item: 0, map: 0, view: null, panel: 0, pin: null, step: 0, hide: false, top: 0, scale: "all", smooth: false, with: null,
  run: "", ask: [], beam: null, drop_tokens: [], layers: null, features: null, find: 0,
};

const whole = (text: string | null): number => (text && /^\d{1,6}$/.test(text) ? Number(text) : 0);

export function read(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const pin = /^([rc])(\d{1,6})$/.exec(given.get("pin") ?? "");
  const view = given.get("view");
  return {
    item: whole(given.get("item")),
    map: whole(given.get("map")),
    view: views.find((one) => one === view) ?? null,
    panel: whole(given.get("panel")),
    pin: pin ? { side: pin[1] === "r" ? "rows" : "columns", index: Number(pin[2]) } : null,
    step: whole(given.get("step")),
    hide: given.get("hide") === "1",
    top: whole(given.get("top")),
    scale: scales.find((one) => one === given.get("scale")) ?? "all",
    smooth: given.get("smooth") === "1",
    with: given.has("with") ? whole(given.get("with")) : null,
    run: given.get("run") ?? "",
    ask: given.getAll("in"),
    beam: whole(given.get("beam")) || null,
    drop_tokens: given.getAll("out").map((one) => one.split(".").filter(Boolean).map(whole)),
    layers: /^(last|mean|all|\d{1,3})$/.exec(given.get("layers") ?? "")?.[0] ?? null,
    features: whole(given.get("features")) || null,
    find: whole(given.get("find")),
  };
}

export function write(state: State): string {
  const given = new URLSearchParams();
  if (state.item) given.set("item", String(state.item));
  if (state.map) given.set("map", String(state.map));
  if (state.view) given.set("view", state.view);
  if (state.panel) given.set("panel", String(state.panel));
  if (state.pin) given.set("pin", (state.pin.side === "rows" ? "r" : "c") + state.pin.index);
  if (state.step) given.set("step", String(state.step));
  if (state.hide) given.set("hide", "1");
  if (state.top) given.set("top", String(state.top));
  if (state.scale !== "all") given.set("scale", state.scale);
  if (state.smooth) given.set("smooth", "1");
  if (state.with !== null) given.set("with", String(state.with));
  if (state.run) given.set("run", state.run);
  for (const text of state.ask) given.append("in", text);
  if (state.beam) given.set("beam", String(state.beam));
  if (state.drop_tokens.some((places) => places.length)) {
    for (const places of state.drop_tokens) given.append("out", places.join("."));
  }
  if (state.layers) given.set("layers", state.layers);
  if (state.features) given.set("features", String(state.features));
  if (state.find) given.set("find", String(state.find));
  return given.toString();
}

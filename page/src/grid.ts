// All heads of a model: a row for each layer, a column for each head, and a search for what heads attend to.

import { colours, type Colours } from "./colour";
import { button, choice, make } from "./dom";
import { pictures } from "./packed";
import { CanvasPainter, type Painter } from "./painter";
import type { Drawing } from "./stage";
import type { AttentionMap, Grid } from "./types";
import { percent } from "./visible";

const best = 8; // heads that are named
const coarse = 16; // of a picture that is saved: hundreds of them lie in one file

export interface Choosing {
  open(panel: number): void;
  find(search: number): void; // 0: nothing, else its number from 1
}

const score = (grid: Grid, find: number, head: number): number => grid.searches[find - 1]?.scores[head] ?? 1;

// How clearly a head is shown: the best of a search fully.
function clear(grid: Grid, find: number, head: number): number {
  if (!find) return 1;
  const most = grid.searches[find - 1].scores.reduce((a, b) => Math.max(a, b), 0) || 1;
  return 0.2 + (0.8 * score(grid, find, head)) / most;
}

function ranked(grid: Grid, find: number): number[] {
  const all = Array.from({ length: grid.layers.length * grid.heads }, (_, head) => head);
  return all.sort((a, b) => score(grid, find, b) - score(grid, find, a) || a - b).slice(0, best);
}

const size = (bytes: number): string =>
  bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

function shares(all: Uint8Array, grid: Grid, head: number): Float64Array {
  const count = grid.side[0] * grid.side[1];
  return Float64Array.from(all.subarray(head * count, (head + 1) * count), (byte) => byte / 255);
}

export function overview(parent: Element, map: AttentionMap, grid: Grid, panel: number, find: number, acts: Choosing): void {
  const all = pictures(map);
  if (!all) return;
  const c = colours();
  const bar = make("div", parent, { class: "grid-search" });
  const options = [{ text: "any", value: "0" }, ...grid.searches.map((one, i) => ({ text: one.name, value: String(i + 1) }))];
  const select = choice(bar, "Heads that attend to", options, String(find), (value) => acts.find(Number(value)));
  select.setAttribute("data-key", "find");
  if (find) {
    const list = make("div", bar, { class: "grid-best", role: "group", "aria-label": "best heads" });
    for (const head of ranked(grid, find)) {
      button(list, `${map.names[grid.first + head]}: ${percent(score(grid, find, head))}`, () => acts.open(grid.first + head), { "data-key": `best-${head}` });
    }
  }
  const whole = make("div", bar, { class: "grid-best", role: "group", "aria-label": "all heads together" });
  for (let i = 0; i < grid.first; i++) button(whole, map.names[i], () => acts.open(i), { "data-key": `whole-${i}` });
  const box = make("div", parent, { class: "grid" });
  box.style.setProperty("grid-template-columns", `auto repeat(${grid.heads}, minmax(0, 1fr))`);
  const [high, wide] = grid.side;
  grid.layers.forEach((layer, row) => {
    make("span", box, { class: "grid-layer", text: String(layer), title: `layer ${layer}` });
    for (let at = 0; at < grid.heads; at++) {
      const head = row * grid.heads + at;
      const name = map.names[grid.first + head];
      const said = find ? `${name}: ${percent(score(grid, find, head))}` : name;
      const one = button(box, "", () => acts.open(grid.first + head), {
        class: grid.first + head === panel ? "grid-head current" : "grid-head", "aria-label": `${said}: enlarge`, title: said, "data-key": `head-${head}`,
      });
      if (find) one.style.setProperty("opacity", String(clear(grid, find, head)));
      const canvas = make("canvas", one, { "aria-hidden": "true", width: wide, height: high });
      const on = canvas.getContext("2d");
      if (on) new CanvasPainter(on).cells(0, 0, 1, wide, shares(all, grid, head), c);
    }
  });
  make("p", parent, {
    class: "note",
    text: `${grid.layers.length} layers (down) × ${grid.heads} heads (across), ${grid.weights.toLocaleString("en")} weights, ${size(grid.bytes)} of this file. `
      + "Weights are rounded to 1/255 of the largest in their row; each small picture has its own scale.",
  });
}

// All heads, to be saved.
export function gridSheet(map: AttentionMap, grid: Grid, find: number): Drawing {
  const all = pictures(map);
  const cell = 3;
  const step = coarse * cell + 8;
  const [high, wide] = grid.side.map((n) => Math.min(n, coarse)) as [number, number];
  return {
    wide: 40 + grid.heads * step,
    high: 26 + grid.layers.length * step,
    draw(p: Painter, c: Colours) {
      if (!all) return;
      for (let at = 0; at < grid.heads; at++) p.text(String(at + 1), 40 + (at + 0.5) * step - 4, 12, { size: 12, fill: c.soft, align: "center" });
      grid.layers.forEach((layer, row) => {
        p.text(String(layer), 30, 26 + (row + 0.5) * step - 4, { size: 12, fill: c.soft, align: "right" });
        for (let at = 0; at < grid.heads; at++) {
          const head = row * grid.heads + at;
          const part = clear(grid, find, head);
          const fine = shares(all, grid, head);
          const some = new Float64Array(high * wide);
          fine.forEach((share, k) => {
            const i = Math.floor((Math.floor(k / grid.side[1]) * high) / grid.side[0]);
            const j = Math.floor(((k % grid.side[1]) * wide) / grid.side[1]);
            some[i * wide + j] = Math.max(some[i * wide + j], share * part);
          });
          const [x, y] = [40 + at * step, 26 + row * step];
          p.cells(x, y, cell, wide, some, c);
          p.rect(x - 0.5, y - 0.5, wide * cell + 1, high * cell + 1, { stroke: c.line });
        }
      });
    },
  };
}

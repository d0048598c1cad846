// Small multiples: one picture for each head, layer or feature, one line for each row of a structured attention.

import { colours } from "./colour";
import { button, make } from "./dom";
import { CanvasPainter, type Painter } from "./painter";
import type { Colours } from "./colour";
import { show, type Options, type Shown } from "./shown";
import type { Drawing } from "./stage";
import { line, tintRow } from "./text";
import type { AttentionMap } from "./types";

const room = 170; // pixels of one picture
const most = 48; // at first; a button shows the rest

export interface Opening {
  open(panel: number): void;
  row(row: number): void;
  all(): void;
}

export const byLine = (map: AttentionMap): boolean => map.panels === "rows" || map.rows.length === 1;
export const offered = (map: AttentionMap): boolean => map.heads.length > 1 || (map.panels === "rows" && map.rows.length > 1);

export function panels(
  parent: Element, map: AttentionMap, options: Options, panel: number, all: boolean, acts: Opening,
): void {
  if (byLine(map)) lines(parent, map, options, panel, acts);
  else squares(parent, map, options, panel, all, acts);
}

function lines(parent: Element, map: AttentionMap, options: Options, panel: number, acts: Opening): void {
  const box = make("div", parent, { class: "lines" });
  const one = (shown: Shown, at: number, name: string, act: () => void): void => {
    const row = make("div", box, { class: "panel-line" });
    button(row, name, act, { class: "panel-name", dir: "auto", title: "enlarge" });
    const words = make("div", row);
    const made = line(words, shown, "columns", name);
    tintRow(made, shown, at);
  };
  if (map.panels === "rows") {
    const shown = show(map, panel, options);
    shown.rows.forEach((row, i) => one(shown, i, map.rows[row].text, () => acts.row(row)));
  } else {
    map.heads.forEach((_, head) => one(show(map, head, options), 0, map.names[head], () => acts.open(head)));
  }
}

function squares(
  parent: Element, map: AttentionMap, options: Options, panel: number, all: boolean, acts: Opening,
): void {
  const c = colours();
  const box = make("div", parent, { class: "panels" });
  const count = all ? map.heads.length : Math.min(map.heads.length, most);
  for (let head = 0; head < count; head++) {
    const name = map.names[head];
    const one = button(box, "", () => acts.open(head), {
      class: head === panel ? "panel current" : "panel", "aria-label": `${name}: enlarge`, "data-key": `panel-${head}`,
    });
    const shown = show(map, head, options);
    const size = square(shown);
    const canvas = make("canvas", one, { "aria-hidden": "true", width: 2 * size.wide, height: 2 * size.high });
    canvas.style.setProperty("width", size.wide + "px");
    const on = canvas.getContext("2d");
    if (on) {
      on.scale(2, 2);
      mini(new CanvasPainter(on), c, shown, 0, 0, size.cell);
    }
    make("span", one, { text: name, dir: "auto" });
  }
  if (count < map.heads.length) button(parent, `Show all ${map.heads.length}`, acts.all, { class: "more" });
}

function square(shown: Shown): { cell: number; wide: number; high: number } {
  const cell = Math.min(34, room / Math.max(shown.rows.length, shown.columns.length, 1));
  return { cell, wide: Math.ceil(cell * shown.columns.length) + 2, high: Math.ceil(cell * shown.rows.length) + 2 };
}

function mini(p: Painter, c: Colours, shown: Shown, x: number, y: number, cell: number): void {
  p.cells(x + 1, y + 1, cell, shown.columns.length, shown.shares, c);
  p.rect(x + 0.5, y + 0.5, cell * shown.columns.length + 1, cell * shown.rows.length + 1, { stroke: c.line });
  if (cell < 5) return;
  for (let i = 1; cell >= 12 && i < shown.rows.length; i++) p.rect(x + 1, y + 0.5 + i * cell, cell * shown.columns.length, 1, { fill: c.line });
  for (let j = 1; cell >= 12 && j < shown.columns.length; j++) p.rect(x + 0.5 + j * cell, y + 1, 1, cell * shown.rows.length, { fill: c.line });
  for (const k of shown.links) {
    const [i, j] = [Math.floor(k / shown.columns.length), k % shown.columns.length];
    p.rect(x + 1.5 + j * cell, y + 1.5 + i * cell, cell - 1, cell - 1, { stroke: c.accent });
  }
}

// All panels side by side, to be saved.
export function sheet(map: AttentionMap, options: Options): Drawing {
  const all = map.heads.map((_, head) => show(map, head, options));
  const size = square(all[0]);
  const wide = Math.max(size.wide, 90) + 16;
  const high = size.high + 30;
  const across = Math.min(all.length, Math.max(1, Math.floor(900 / wide)));
  return {
    wide: across * wide,
    high: Math.ceil(all.length / across) * high,
    draw(p, c) {
      all.forEach((shown, head) => {
        const [x, y] = [(head % across) * wide, Math.floor(head / across) * high];
        p.text(map.names[head], x, y + 10, { size: 13, fill: c.ink });
        mini(p, c, shown, x, y + 20, size.cell);
      });
    },
  };
}

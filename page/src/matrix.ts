// The matrix: output words down, input words across, the darker a cell, the higher its weight.

import { mix, onto, type Colours } from "./colour";
import { fit, measure, type Letters, type Painter } from "./painter";
import { standing, tokens, type Shown } from "./shown";
import { step, type Picture } from "./stage";
import type { Place, Region } from "./types";
import { direction, percent } from "./visible";

const size = 13;
const small = 11; // of figures and titles
const longest = 128; // pixels of a label
const slope = 50; // degrees
const readable = 23; // pixels of a cell that has its figure in it
const least = 12; // pixels of a cell that has a grid around it
const pitch = 17; // pixels between two labels that can be read

function cellOf(rows: number, columns: number, room: number): number {
  const longer = Math.max(rows, columns, 1);
  if (longer > 80) return Math.max(2, Math.floor(1000 / longer));
  if (longer > 40) return 15;
  return Math.max(readable, Math.min(46, Math.floor(room / Math.max(columns, 1)), Math.floor(620 / Math.max(rows, 1))));
}

export function matrix(shown: Shown, room: number): Picture {
  const rows = tokens(shown, "rows");
  const columns = tokens(shown, "columns");
  // Single letters stand upright, words lean; the end leans among letters too.
  const spelled = columns.every((token) => token.letter || token.special);
  const flat = columns.map((token) => spelled && token.letter);
  const most = Math.min(longest, room * 0.3); // of a narrow page the cells get the larger part
  const labels = rows.map((token) => fit(token.text, size, most));
  const heads = columns.map((token) => fit(token.text, size, longest));
  const titles = shown.map.axes.map((name, side) => (name ? fit(`${name} ${side ? "→" : "↓"}`, small, 180) : ""));
  const left = Math.ceil(Math.max(...titles.map((text) => measure(text, small) + 2), ...labels.map((text) => measure(text, size)))) + 14;
  const cell = cellOf(rows.length, columns.length, room - left - 50);
  const every = cell >= least ? 1 : Math.ceil(pitch / cell);
  const lean = (slope * Math.PI) / 180;
  const long = heads.map((text, j) => (flat[j] ? 0 : measure(text, size)));
  const above = Math.ceil(Math.max(titles[1] ? 18 : 6, ...long.map((length) => length * Math.sin(lean)))) + 22;
  const far = Math.max(0, ...long.map((length, j) => (j + 0.5) * cell + length * Math.cos(lean) + 8));
  const inside = { wide: columns.length * cell, high: rows.length * cell };
  const wide = Math.ceil(left + Math.max(inside.wide, far) + 8);
  const high = Math.ceil(above + inside.high + 6);

  const letters = (token: Region, c: Colours): Letters => ({
    size,
    fill: token.out || token.special || token.space ? c.soft : c.ink,
    italic: token.out,
    direction: direction(token.text),
  });

  function head(p: Painter, j: number, l: Letters): void {
    const x = left + (j + 0.5) * cell;
    if (flat[j]) p.text(heads[j], x, above - 13, { ...l, align: "center" });
    else p.text(heads[j], x, above - 8, { ...l, turn: -slope, align: "left" });
  }

  const side = (p: Painter, i: number, l: Letters): void =>
    p.text(labels[i], left - 8, above + (i + 0.5) * cell, { ...l, align: "right" });

  function draw(p: Painter, c: Colours): void {
    p.cells(left, above, cell, columns.length, shown.shares, c);
    if (cell >= least) {
      for (let i = 0; i <= rows.length; i++) p.rect(left, above + i * cell - 0.5, inside.wide, 1, { fill: c.line });
      for (let j = 0; j <= columns.length; j++) p.rect(left + j * cell - 0.5, above, 1, inside.high, { fill: c.line });
    } else p.rect(left - 0.5, above - 0.5, inside.wide + 1, inside.high + 1, { stroke: c.line });
    if (cell >= readable) {
      shown.shares.forEach((share, k) => {
        if (Math.abs(share) < 0.1) return;
        const [i, j] = [Math.floor(k / columns.length), k % columns.length];
        const fill = onto(share, c);
        p.text(percent(shown.weights[k]).replace("%", ""), left + (j + 0.5) * cell, above + (i + 0.5) * cell, { size: cell < 34 ? 10 : small, fill, align: "center" });
      });
    }
    for (const k of shown.links) {
      const [i, j] = [Math.floor(k / columns.length), k % columns.length];
      const edge = cell >= least ? 2 : 1;
      p.rect(left + j * cell + edge / 2, above + i * cell + edge / 2, cell - edge, cell - edge, { stroke: c.accent, width: edge });
    }
    for (const j of shown.breaks) p.rect(left + j * cell - 1.5, above - 8, 3, inside.high + 10, { fill: c.ink });
    p.text(titles[0], left - 8, above - 13, { size: small, fill: c.soft, align: "right" });
    p.text(titles[1], left - 8, above - 29, { size: small, fill: c.soft, align: "right" }); // in the corner, which never scrolls
    for (let i = 0; i < rows.length; i += every) side(p, i, letters(rows[i], c));
    for (let j = 0; j < columns.length; j += every) head(p, j, letters(columns[j], c));
  }

  function over(p: Painter, c: Colours, place: Place): void {
    const at = standing(shown, place);
    if (at < 0) return;
    const isRow = place.side === "rows";
    const crossing = place.other === undefined ? -1 : shown[isRow ? "columns" : "rows"].indexOf(place.other);
    const [i, j] = isRow ? [at, crossing] : [crossing, at];
    if (i >= 0) mark(p, c, left, above + i * cell, inside.wide, cell, isRow);
    if (j >= 0) mark(p, c, left + j * cell, above, cell, inside.high, !isRow);
    if (i >= 0 && j >= 0) p.rect(left + j * cell, above + i * cell, cell, cell, { stroke: c.ink, width: 3 });
    if (i >= 0) name(p, c, labels[i], left - 8, above + (i + 0.5) * cell, "right");
    if (j >= 0 && (flat[j] || cell < least)) name(p, c, heads[j], left + (j + 0.5) * cell, above - 13, "center");
    else if (j >= 0) head(p, j, { size, fill: mix(1, c), bold: true });
  }

  const mark = (p: Painter, c: Colours, x: number, y: number, w: number, h: number, strong: boolean): void =>
    cell >= least
      ? p.rect(x, y, w, h, { stroke: c.ink, width: strong ? 2 : 1, alpha: strong ? 1 : 0.45 })
      : p.rect(x - 1.5, y - 1.5, w + 3, h + 3, { stroke: c.ink, width: 1, alpha: strong ? 0.8 : 0.4 }); // around, not over

  function name(p: Painter, c: Colours, text: string, x: number, y: number, align: "right" | "center"): void {
    const long = measure(text, size, true) + 6;
    const from = Math.max(0, align === "right" ? x - long + 3 : x - long / 2);
    p.rect(from, y - 9, long, 18, { fill: mix(1, c), round: 4 });
    p.text(text, from + long / 2, y, { size, fill: c.onHeat, align: "center", bold: true });
  }

  function hit(x: number, y: number): Place | null {
    const i = Math.floor((y - above) / cell);
    const j = Math.floor((x - left) / cell);
    const row = i >= 0 && i < rows.length;
    const column = j >= 0 && j < columns.length;
    if (row && column) return { side: "rows", index: shown.rows[i], other: shown.columns[j] };
    if (row && j < 0) return { side: "rows", index: shown.rows[i] };
    return column && i < 0 ? { side: "columns", index: shown.columns[j] } : null;
  }

  function move(from: Place | null, key: string): Place | null {
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], Home: [0, -1e6], End: [0, 1e6] }[key];
    if (!by || !rows.length || !columns.length) return null;
    const at = standing(shown, from);
    const crossing = from?.other === undefined ? 0 : shown[from.side === "rows" ? "columns" : "rows"].indexOf(from.other);
    const [i, j] = from?.side === "columns" ? [crossing, at] : [at, crossing];
    const begin = at < 0;
    return {
      side: "rows",
      index: shown.rows[begin ? 0 : step(Math.max(i, 0), rows.length, by[0])],
      other: shown.columns[begin ? 0 : step(Math.max(j, 0), columns.length, by[1])],
    };
  }

  return { wide, high, frozen: { left, above }, draw, over, hit, move };
}

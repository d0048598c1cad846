// Words in lines as on the page, drawn, to be saved as a picture.

import { mix, onto } from "./colour";
import { fit, measure, type Painter } from "./painter";
import { called, lineOf, standing, type Shown } from "./shown";
import type { Drawing } from "./stage";
import { resting } from "./text";
import type { Place, Side } from "./types";
import { direction, percent } from "./visible";

const size = 18;
const high = 46;
const room = 900;

interface Box {
  side: Side;
  at: number; // among what is shown
  x: number;
  y: number;
  wide: number;
  text: string;
}

interface Row {
  at: number;
  name: string;
}

// The words coloured for one place; `until` leaves out later words of the output.
export function flow(shown: Shown, place: Place | null, until = Infinity): Drawing {
  const chosen: Place | null = place ?? resting(shown);
  const at = standing(shown, chosen);
  const boxes: Box[] = [];
  const names: { text: string; y: number }[] = [];
  let y = 0;
  for (const side of ["columns", "rows"] as const) {
    if (side === "rows" && shown.rows.length === 1) continue;
    names.push({ text: called(shown.map, side), y: y + 8 });
    y = lay(shown, side, side === "rows" ? until : Infinity, y + 18, boxes) + 16;
  }
  const whole = drawing(shown, boxes, y, (box) => {
    if (!chosen || at < 0 || box.side === chosen.side) {
      return { share: 0, weight: 0, chosen: box.side === chosen?.side && box.at === at };
    }
    const k = chosen.side === "rows" ? at * shown.columns.length + box.at : box.at * shown.columns.length + at;
    return { share: Math.abs(shown.shares[k]), weight: shown.weights[k], chosen: false };
  });
  return {
    ...whole,
    draw(p, c) {
      for (const { text, y } of names) p.text(text, 2, y, { size: 12, fill: c.soft });
      whole.draw(p, c);
    },
  };
}

// The input again and again, once for each row or head.
export function list(all: { shown: Shown; row: Row }[]): Drawing {
  const parts = all.map(({ shown, row }) => {
    const boxes: Box[] = [];
    const tall = lay(shown, "columns", Infinity, 22, boxes);
    const shares = lineOf(shown, "rows", row.at, shown.shares);
    const weights = lineOf(shown, "rows", row.at, shown.weights);
    return { name: row.name, one: drawing(shown, boxes, tall, (box) => ({ share: Math.abs(shares[box.at]), weight: weights[box.at], chosen: false })) };
  });
  return {
    wide: Math.max(...parts.map(({ one }) => one.wide)),
    high: parts.reduce((sum, { one }) => sum + one.high + 8, 0),
    draw(p, c) {
      let y = 0;
      for (const { name, one } of parts) {
        p.text(name, 0, y + 10, { size: 13, fill: c.soft });
        one.draw(shifted(p, y), c);
        y += one.high + 8;
      }
    },
  };
}

export const shifted = (p: Painter, by: number): Painter => ({
  rect: (x, y, w, h, ink) => p.rect(x, y + by, w, h, ink),
  curve: (a, b, c, d, ink) => p.curve(a, b + by, c, d + by, ink),
  text: (text, x, y, l) => p.text(text, x, y + by, l),
  cells: (x, y, cell, columns, shares, c) => p.cells(x, y + by, cell, columns, shares, c),
  image: (image, x, y, w, h) => p.image(image, x, y + by, w, h),
});

function lay(shown: Shown, side: Side, until: number, top: number, boxes: Box[]): number {
  const rtl = shown.map.directions[side] === "rtl";
  let x = 0;
  let y = top;
  shown[side].forEach((index, i) => {
    if (i > until) return;
    const text = fit(shown.map[side][index].text, size, 260);
    const wide = Math.max(30, measure(text, size) + 12); // a short word has room for its figure too
    if (x + wide > room && x > 0) [x, y] = [0, y + high];
    boxes.push({ side, at: i, x: rtl ? room - x - wide : x, y, wide, text });
    x += wide + 2 + (side === "columns" && shown.breaks.includes(i + 1) ? 14 : 0);
  });
  return y + high;
}

function drawing(
  shown: Shown, boxes: Box[], tall: number, of: (box: Box) => { share: number; weight: number; chosen: boolean },
): Drawing {
  return {
    wide: Math.ceil(Math.max(60, ...boxes.map((box) => box.x + box.wide))),
    high: tall,
    draw(p, c) {
      for (const box of boxes) {
        const token = shown.map[box.side][shown[box.side][box.at]];
        const { share, weight, chosen } = of(box);
        const fill = share > 0.1 ? onto(share, c) : token.out || token.special ? c.soft : c.ink;
        p.rect(box.x + 1, box.y + 2, box.wide - 2, high - 6, { fill: mix(share, c), round: 6, ...(chosen ? { stroke: c.ink, width: 2 } : {}) });
        const letters = { size, fill, italic: token.out, strike: token.out, direction: direction(box.text) };
        p.text(box.text, box.x + box.wide / 2, box.y + 16, { ...letters, align: "center" });
        if (share >= 0.1) p.text(percent(weight).replace("%", ""), box.x + box.wide / 2, box.y + 34, { size: 11, fill, align: "center" });
      }
      for (const j of shown.breaks) {
        const box = boxes.find((one) => one.side === "columns" && one.at === j);
        if (box) p.rect(box.x - 9, box.y + 4, 3, high - 10, { fill: c.ink });
      }
    },
  };
}

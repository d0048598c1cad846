// Arcs between two rows of words, input above and output below; the thicker, the higher the weight.

import { mix, onto, type Colours } from "./colour";
import { fit, measure, type Painter } from "./painter";
import { called, standing, tokens, type Shown } from "./shown";
import { step, type Picture } from "./stage";
import type { Place, Side } from "./types";
import { direction, percent } from "./visible";

const size = 15;
const longest = 130;
const high = 30; // of a word
const widest = 4000; // pixels of a line of words
const faint = 0.02; // shares below are not drawn
export const most = 6000; // arcs that are drawn; the strongest
export const many = 2000; // arcs beyond which they are drawn on a canvas

export const drawn = (shown: Shown): number => shown.shares.reduce((n, share) => n + (Math.abs(share) >= faint ? 1 : 0), 0);

interface Word {
  x: number; // its middle
  wide: number;
  text: string;
}

export function arcs(shown: Shown, room: number): Picture {
  const count = shown.columns.length;
  const words = (side: Side): Word[] =>
    tokens(shown, side).map((token) => {
      const text = fit(token.text, size, longest);
      return { x: 0, wide: Math.max(20, measure(text, size) + 12), text };
    });
  const line = { columns: words("columns"), rows: words("rows") };
  const bar = shown.breaks.length ? 14 : 0;
  const total = (side: Side): number =>
    line[side].reduce((sum, word) => sum + word.wide + 3, 0) + (side === "columns" ? bar * shown.breaks.length : 0);
  // Too many words to be read side by side stand as points; only those that are pointed at are written out.
  const points = Math.max(total("columns"), total("rows")) > widest;
  if (points) {
    const pitch = Math.max(2, Math.floor((room - 40) / Math.max(line.columns.length, line.rows.length)));
    for (const one of [...line.columns, ...line.rows]) one.wide = pitch - 3;
  }
  const longer = Math.max(total("columns"), total("rows"), 60);
  const wide = Math.ceil(Math.max(longer, Math.min(room, longer * 1.6))) + 8;
  const between = Math.max(130, Math.min(260, wide * 0.24));
  const y = { columns: 38, rows: 38 + high + between };
  const whole = { wide, high: 2 * high + between + 78 };

  for (const side of ["columns", "rows"] as const) {
    const gap = (wide - 8 - total(side)) / Math.max(line[side].length, 1);
    let x = 4;
    line[side].forEach((word, i) => {
      if (side === "columns" && shown.breaks.includes(i)) x += bar;
      x += gap / 2 + word.wide / 2;
      word.x = shown.map.directions[side] === "rtl" ? wide - x : x;
      x += gap / 2 + word.wide / 2 + 3;
    });
  }

  const order = Array.from(shown.shares.keys())
    .filter((k) => Math.abs(shown.shares[k]) >= faint)
    .sort((a, b) => Math.abs(shown.shares[a]) - Math.abs(shown.shares[b]))
    .slice(-most);

  function arc(p: Painter, c: Colours, k: number): void {
    const share = shown.shares[k];
    const strong = Math.abs(share);
    const from = line.columns[k % count];
    const to = line.rows[Math.floor(k / count)];
    const ink = { stroke: mix(Math.sign(share), c), width: 0.8 + 5.2 * strong, alpha: 0.12 + 0.83 * strong };
    p.curve(from.x, y.columns + high, to.x, y.rows, ink);
  }

  // Where the words begin that it names, above or below them.
  function title(p: Painter, c: Colours, side: Side, at: number): void {
    const first = Math.min(...line[side].map((one) => one.x - one.wide / 2), wide);
    p.text(called(shown.map, side), Math.max(4, Math.min(first, wide - 80)), at, { size: 12, fill: c.soft });
  }

  function word(p: Painter, c: Colours, side: Side, i: number, share: number, chosen: boolean): void {
    const one = line[side][i];
    if (points && !chosen && share < 0.25) {
      p.rect(one.x - 1, y[side] + (side === "columns" ? high - 4 : 0), 1.5, 4, { fill: c.soft });
      return;
    }
    const token = shown.map[side][shown[side][i]];
    const fill = share > 0.1 ? onto(share, c) : token.out || token.special || token.space ? c.soft : c.ink;
    const box = { fill: mix(share, c), round: 6, ...(chosen ? { stroke: c.ink, width: 2 } : {}) };
    const wide = points ? measure(one.text, size) + 12 : one.wide;
    const x = points ? Math.min(Math.max(one.x, wide / 2), whole.wide - wide / 2) : one.x;
    if (share > 0 || chosen) p.rect(x - wide / 2 + 1, y[side] + 2, wide - 2, high - 4, box);
    p.text(one.text, x, y[side] + high / 2, { size, fill, align: "center", italic: token.out, direction: direction(one.text) });
  }

  function draw(p: Painter, c: Colours): void {
    title(p, c, "columns", 10);
    title(p, c, "rows", whole.high - 10);
    for (const k of order) arc(p, c, k);
    for (const k of shown.links) {
      const [from, to] = [line.columns[k % count], line.rows[Math.floor(k / count)]];
      p.curve(from.x, y.columns + high, to.x, y.rows, { stroke: c.accent, width: 1.5, dash: true });
    }
    for (const side of ["columns", "rows"] as const) line[side].forEach((_, i) => word(p, c, side, i, 0, false));
    for (const j of shown.breaks) {
      const x = (line.columns[j - 1].x + line.columns[j].x) / 2 + (line.columns[j - 1].wide - line.columns[j].wide) / 4;
      p.rect(x - 1.5, y.columns + 3, 3, high - 6, { fill: c.ink });
    }
  }

  function over(p: Painter, c: Colours, place: Place): void {
    const at = standing(shown, place);
    if (at < 0) return;
    const isRow = place.side === "rows";
    const other: Side = isRow ? "columns" : "rows";
    p.rect(0, 0, wide, whole.high, { fill: c.card, alpha: 0.86 });
    const mine = order.filter((k) => (isRow ? Math.floor(k / count) : k % count) === at);
    for (const k of mine) arc(p, c, k);
    title(p, c, "columns", 10);
    title(p, c, "rows", whole.high - 10);
    line[place.side].forEach((_, i) => word(p, c, place.side, i, 0, i === at));
    line[other].forEach((one, i) => {
      const k = isRow ? at * count + i : i * count + at;
      word(p, c, other, i, Math.abs(shown.shares[k]), false);
      const label = y[other] + (isRow ? -7 : high + 8);
      if (Math.abs(shown.shares[k]) < (points ? 0.25 : 0.1)) return;
      p.text(percent(shown.weights[k]).replace("%", ""), one.x, label, { size: 11, fill: c.soft, align: "center" });
    });
  }

  function hit(x: number, at: number): Place | null {
    const side: Side | null = at < y.columns + high + 12 ? "columns" : at > y.rows - 12 ? "rows" : null;
    if (!side) return null;
    const close = line[side].length ? near(line[side], x) : -1;
    const found = close >= 0 && Math.abs(line[side][close].x - x) <= line[side][close].wide / 2 + 4 ? close : -1;
    return found < 0 ? null : { side, index: shown[side][found] };
  }

  function move(from: Place | null, key: string): Place | null {
    const side: Side = key === "ArrowDown" ? "rows" : key === "ArrowUp" ? "columns" : (from?.side ?? "rows");
    const turn = shown.map.directions[side] === "rtl" ? -1 : 1;
    const by = { ArrowRight: turn, ArrowLeft: -turn, Home: -1e6, End: 1e6, ArrowUp: 0, ArrowDown: 0 }[key];
    if (by === undefined || !shown[side].length) return null;
    const at = from ? standing(shown, from) : -1;
    const to = at < 0 ? 0 : from?.side === side ? step(at, shown[side].length, by) : near(line[side], line[from?.side ?? side][at].x);
    return { side, index: shown[side][to] };
  }

  return { wide, high: whole.high, draw, over, hit, move, fromRight: shown.map.directions.columns === "rtl" };
}

const near = (line: Word[], x: number): number =>
  line.reduce((best, one, i) => (Math.abs(one.x - x) < Math.abs(line[best].x - x) ? i : best), 0);

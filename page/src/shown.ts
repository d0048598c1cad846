// What of a gaze is shown under the present options: which rows and columns, and how strongly each weight.

import type { Gaze, Place, Side, Token } from "./types";

export interface Options {
  hide: boolean;
  top: number;
  scale: "all" | "row";
}

export interface Shown {
  gaze: Gaze;
  rows: number[]; // places in the gaze
  columns: number[];
  weights: Float64Array; // row by row
  shares: Float64Array; // 0 to 1, as they are coloured; a difference goes down to −1
  top: number; // the weight at which the colours end
  links: Set<number>; // row · columns + column
  breaks: number[]; // shown columns before which another input begins
}

export function show(gaze: Gaze, panel: number, options: Options): Shown {
  const kept = (tokens: Token[]): number[] => {
    const every = tokens.map((_, index) => index);
    const some = options.hide ? every.filter((index) => !tokens[index].special) : every;
    return some.length ? some : every; // nothing but specials: then these
  };
  const rows = kept(gaze.rows);
  const columns = kept(gaze.columns);
  const head = gaze.heads[Math.min(panel, gaze.heads.length - 1)];
  const wide = columns.length;
  const weights = new Float64Array(rows.length * wide);
  const tops = new Float64Array(rows.length);
  rows.forEach((row, i) => {
    for (let j = 0; j < wide; j++) {
      const weight = head[row * gaze.columns.length + columns[j]];
      weights[i * wide + j] = weight;
      if (weight > tops[i]) tops[i] = weight;
    }
  });
  const largest = tops.reduce((a, b) => Math.max(a, b), 0);
  const top = (options.hide ? largest : gaze.top) || 1; // one scale for all heads, unless a sink was hidden
  const shares = new Float64Array(weights.length);
  rows.forEach((_, i) => {
    const line = weights.subarray(i * wide, (i + 1) * wide);
    const end = options.scale === "row" ? tops[i] || 1 : top;
    const least = options.top && options.top < wide ? [...line].sort((a, b) => b - a)[options.top - 1] : 0;
    for (let j = 0; j < wide; j++) {
      if (line[j] < least || line[j] <= 0) continue;
      if (line[j] === least && options.top && options.top <= above(line, least, j)) continue;
      shares[i * wide + j] = Math.min(1, line[j] / end);
    }
  });
  const at = new Map(columns.map((column, j) => [column, j]));
  const down = new Map(rows.map((row, i) => [row, i]));
  const links = new Set<number>();
  for (const [row, column] of gaze.links) {
    const i = down.get(row);
    const j = at.get(column);
    if (i !== undefined && j !== undefined) links.add(i * wide + j);
  }
  const breaks = gaze.breaks.map((column) => columns.findIndex((one) => one >= column)).filter((j) => j > 0);
  return { gaze, rows, columns, weights, shares, top, links, breaks };
}

// How many of a row come before place j when ties are taken from the left.
function above(line: Float64Array, least: number, j: number): number {
  let count = 0;
  line.forEach((weight, k) => (count += weight > least || (weight === least && k < j) ? 1 : 0));
  return count;
}

export const tokens = (shown: Shown, side: Side): Token[] => shown[side].map((index) => shown.gaze[side][index]);

// Where a place of the gaze stands among what is shown; −1 where it is hidden.
export const standing = (shown: Shown, place: Place | null): number =>
  place ? shown[place.side].indexOf(place.index) : -1;

// The line of weights that belongs to a row or a column.
export function lineOf(shown: Shown, side: Side, at: number, values: Float64Array): number[] {
  const wide = shown.columns.length;
  return side === "rows"
    ? Array.from(values.subarray(at * wide, (at + 1) * wide))
    : shown.rows.map((_, i) => values[i * wide + at]);
}

// What of an attention map is shown under the present options: which rows and columns, and how strongly each weight.

import type { AttentionMap, Place, Side, Region } from "./types";

export interface Options {
  hide: boolean;
  top: number;
  scale: "all" | "row" | "full";
  end?: number; // no colour scale ends below this, so that two maps side by side have the same
}

export interface Shown {
  map: AttentionMap;
  rows: number[]; // places in the map
  columns: number[];
  weights: Float64Array; // row by row
  shares: Float64Array; // 0 to 1, as they are coloured; a difference goes down to −1
  top: number; // the weight at which the colours end
  even: boolean; // whether that is twice an even share, more than any weight
  links: Set<number>; // row · columns + column
  breaks: number[]; // shown columns before which another input begins
}

export function show(map: AttentionMap, panel: number, options: Options): Shown {
  const kept = (tokens: Region[]): number[] => {
    const every = tokens.map((_, index) => index);
    const some = options.hide ? every.filter((index) => !tokens[index].special) : every;
    return some.length ? some : every; // nothing but specials: then these
  };
  const rows = kept(map.rows);
  const columns = kept(map.columns);
  const head = map.heads[Math.min(panel, map.heads.length - 1)];
  const wide = columns.length;
  const weights = new Float64Array(rows.length * wide);
  const tops = new Float64Array(rows.length);
  const least = new Float64Array(rows.length); // twice an even share: a row without a peak has no dark cell
  rows.forEach((row, i) => {
    for (let j = 0; j < wide; j++) {
      const weight = head[row * map.columns.length + columns[j]];
      weights[i * wide + j] = weight;
      least[i] += (weight / wide) * Math.min(2, wide);
      if (weight > tops[i]) tops[i] = weight;
    }
  });
  const largest = tops.reduce((a, b) => Math.max(a, b), 0);
  const floor = least.reduce((a, b) => Math.max(a, b), 0);
  // One scale for all heads, unless a sink was hidden.
  const own = (options.hide ? Math.max(largest, floor) : map.top) || 1;
  const top = options.scale === "full" ? 1 : options.hide ? own : Math.max(own, options.end ?? 0);
  const even = options.scale === "all" && floor > largest && top <= floor * 1.0001;
  const shares = new Float64Array(weights.length);
  rows.forEach((_, i) => {
    const line = weights.subarray(i * wide, (i + 1) * wide);
    const end = options.scale === "row" ? Math.max(tops[i], least[i]) || 1 : top;
    const last = options.top && options.top < wide ? [...line].sort((a, b) => b - a)[options.top - 1] : 0;
    for (let j = 0; j < wide; j++) {
      if (line[j] < last || line[j] <= 0) continue;
      if (line[j] === last && options.top && options.top <= above(line, last, j)) continue;
      shares[i * wide + j] = Math.min(1, line[j] / end);
    }
  });
  const at = new Map(columns.map((column, j) => [column, j]));
  const down = new Map(rows.map((row, i) => [row, i]));
  const links = new Set<number>();
  for (const [row, column] of map.links) {
    const i = down.get(row);
    const j = at.get(column);
    if (i !== undefined && j !== undefined) links.add(i * wide + j);
  }
  const breaks = map.breaks.map((column) => columns.findIndex((one) => one >= column)).filter((j) => j > 0);
  return { map, rows, columns, weights, shares, top, even, links, breaks };
}

// How many of a row come before place j when ties are taken from the left.
function above(line: Float64Array, least: number, j: number): number {
  let count = 0;
  line.forEach((weight, k) => (count += weight > least || (weight === least && k < j) ? 1 : 0));
  return count;
}

// What a side is called.
export const called = (map: AttentionMap, side: Side): string =>
  (side === "rows" ? map.axes[0] : map.axes[1]) || (side === "rows" ? "Output" : "Input");

export const tokens = (shown: Shown, side: Side): Region[] => shown[side].map((index) => shown.map[side][index]);

// Where a place of the map stands among what is shown; −1 where it is hidden.
export const standing = (shown: Shown, place: Place | null): number =>
  place ? shown[place.side].indexOf(place.index) : -1;

// The line of weights that belongs to a row or a column.
export function lineOf(shown: Shown, side: Side, at: number, values: Float64Array): number[] {
  const wide = shown.columns.length;
  return side === "rows"
    ? Array.from(values.subarray(at * wide, (at + 1) * wide))
    : shown.rows.map((_, i) => values[i * wide + at]);
}

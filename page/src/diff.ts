// Two answers side by side: which words are in both, and where the weights moved.

import { show, type Options, type Shown } from "./shown";
import type { AttentionMap, Region } from "./types";

// Pairs of places whose tokens are the same, in order (longest common subsequence).
export function common(a: Region[], b: Region[]): [number, number][] {
  const [n, m] = [a.length, b.length];
  const best = new Uint16Array((n + 1) * (m + 1));
  const text = (token: Region): string => token.raw ?? token.text;
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      best[i * (m + 1) + j] =
        text(a[i]) === text(b[j])
          ? best[(i + 1) * (m + 1) + j + 1] + 1
          : Math.max(best[(i + 1) * (m + 1) + j], best[i * (m + 1) + j + 1]);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (text(a[i]) === text(b[j])) pairs.push([i++, j++]);
    else if (best[(i + 1) * (m + 1) + j] >= best[i * (m + 1) + j + 1]) i++;
    else j++;
  }
  return pairs;
}

export interface Change {
  row: string;
  column: string;
  before: number;
  after: number;
}

export interface Difference {
  shown: Shown; // weights after minus before, of what is in both
  largest: Change[];
}

// A single query is the same query, whatever it answered.
function pairsOf(a: Region[], b: Region[]): [number, number][] {
  return a.length === 1 && b.length === 1 ? [[0, 0]] : common(a, b);
}

export function difference(a: AttentionMap, b: AttentionMap, panel: number, options: Options): Difference | null {
  const rows = pairsOf(a.rows, b.rows);
  const columns = common(a.columns, b.columns);
  if (!rows.length || !columns.length) return null;
  const head = (map: AttentionMap): ArrayLike<number> => map.heads[Math.min(panel, map.heads.length - 1)];
  const moved = rows.flatMap(([i, k]) => columns.map(([j, l]) => head(b)[k * b.columns.length + l] - head(a)[i * a.columns.length + j]));
  const map: AttentionMap = {
    ...a,
    rows: rows.map(([i]) => a.rows[i]),
    columns: columns.map(([j]) => a.columns[j]),
    heads: [moved],
    names: ["difference"],
    links: [],
    breaks: [],
    top: moved.reduce((top, one) => Math.max(top, Math.abs(one)), 0) || 1,
  };
  const shown = show(map, 0, { ...options, top: 0, scale: "all" });
  const top = map.top;
  shown.weights.forEach((weight, k) => (shown.shares[k] = weight / top));
  const seen = (k: number): boolean =>
    !options.hide || !(map.rows[Math.floor(k / columns.length)].special || map.columns[k % columns.length].special);
  const order = [...moved.keys()].filter(seen).sort((x, y) => Math.abs(moved[y]) - Math.abs(moved[x])).slice(0, 5);
  const largest = order.map((k) => {
    const [[i, r], [j, s]] = [rows[Math.floor(k / columns.length)], columns[k % columns.length]];
    return {
      row: a.rows[i].text,
      column: a.columns[j].text,
      before: head(a)[i * a.columns.length + j],
      after: head(b)[r * b.columns.length + s],
    };
  });
  return { shown: { ...shown, top }, largest: largest.filter((one) => Math.abs(one.after - one.before) >= 0.0005) };
}

// Heads that came packed (src/regard/look/packed.py) and are read when they are looked at.

import type { AttentionMap } from "./types";

const kept = 64; // heads in memory at once, for each map
const order = new WeakMap<AttentionMap, number[]>();

async function bytes(packed: string): Promise<Uint8Array<ArrayBuffer>> {
  const deflated = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export const ready = (map: AttentionMap, panel: number): boolean => !map.packed || map.heads[panel].length > 0 || !map.rows.length;

// Row by row: the largest weight of each, then every weight as its share of that.
export async function unpack(map: AttentionMap, panel: number): Promise<void> {
  if (!map.packed || ready(map, panel)) return;
  const content = await bytes(map.packed[panel]);
  const rows = map.rows.length;
  const columns = map.columns.length;
  const view = new DataView(content.buffer);
  const head = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    const unit = view.getFloat32(4 * i, true) / 255;
    for (let j = 0; j < columns; j++) head[i * columns + j] = content[4 * rows + i * columns + j] * unit;
  }
  map.heads[panel] = head;
  const read = order.get(map) ?? [];
  read.push(panel);
  if (read.length > kept) map.heads[read.shift() as number] = [];
  order.set(map, read);
}

const small = new WeakMap<AttentionMap, Uint8Array>();

// The small pictures of all heads, one after the other; null until they are read.
export const pictures = (map: AttentionMap): Uint8Array | null => small.get(map) ?? null;

export async function readPictures(map: AttentionMap): Promise<void> {
  if (map.grid && !small.has(map)) small.set(map, await bytes(map.grid.small));
}

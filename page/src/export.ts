// Files of what is seen: a picture (PNG, SVG), everything exactly (JSON), the weights as a table (CSV).

import { colours } from "./colour";
import { CanvasPainter, svg, SvgPainter } from "./painter";
import type { Shown } from "./shown";
import type { Drawing } from "./stage";
import type { Item, Run } from "./types";

const margin = 16;

export function download(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function asPng(drawing: Drawing): Blob {
  const [wide, high] = [drawing.wide + 2 * margin, drawing.high + 2 * margin];
  const ratio = Math.min(3, 8000 / Math.max(wide, high));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(wide * ratio);
  canvas.height = Math.ceil(high * ratio);
  const on = canvas.getContext("2d");
  if (!on) throw new Error("no canvas");
  on.scale(ratio, ratio);
  const c = colours();
  on.fillStyle = c.card;
  on.fillRect(0, 0, wide, high);
  on.translate(margin, margin);
  drawing.draw(new CanvasPainter(on), c);
  // At once: toBlob would wait until the browser has nothing else to do.
  const bytes = Uint8Array.from(atob(canvas.toDataURL("image/png").split(",")[1]), (c) => c.charCodeAt(0));
  return new Blob([bytes], { type: "image/png" });
}

export function asSvg(drawing: Drawing): Blob {
  const c = colours();
  const root = svg(drawing.wide + 2 * margin, drawing.high + 2 * margin);
  const painter = new SvgPainter(root);
  painter.rect(0, 0, drawing.wide + 2 * margin, drawing.high + 2 * margin, { fill: c.card });
  const group = document.createElementNS(root.namespaceURI, "g") as SVGGElement;
  group.setAttribute("transform", `translate(${margin} ${margin})`);
  root.append(group);
  drawing.draw(new SvgPainter(group), c);
  return new Blob([new XMLSerializer().serializeToString(root)], { type: "image/svg+xml" });
}

// All of an item, with every token as it is: what is only for the eye is left out.
export function asJson(item: Item, run: Run | undefined): Blob {
  const maps = item.maps.map((map) => {
    const bare = (side: "rows" | "columns"): object[] =>
      map[side].map(({ text, raw, letter, space, out, ...place }) => ({ text: raw ?? text, ...place, chosen: !out }));
    const wide = map.columns.length;
    const { title, links, breaks, panels, source } = map;
    const read = map.heads.map((_, i) => i).filter((i) => map.heads[i].length || !map.packed); // packed ones that were seen
    const names = read.map((i) => map.names[i]);
    const weights = read.map((k) => map.rows.map((_, i) => Array.from(map.heads[k]).slice(i * wide, (i + 1) * wide)));
    return { title, rows: bare("rows"), columns: bare("columns"), names, panels, links, breaks, source, weights };
  });
  const text = JSON.stringify({ ...item, run: run ? { name: run.name, task: run.task } : null, maps }, null, 1);
  return new Blob([text + "\n"], { type: "application/json" });
}

// The weights that are shown, output words down and input words across.
export function asCsv(shown: Shown): Blob {
  const cell = (text: string): string => {
    const safe = text.length > 1 && /^[=+\-@\t\r]/.test(text) ? "'" + text : text; // a sheet would take it for a formula
    return `"${safe.replaceAll('"', '""')}"`;
  };
  const { map } = shown;
  const name = (side: "rows" | "columns", index: number): string => cell(map[side][index].raw ?? map[side][index].text);
  const wide = shown.columns.length;
  const lines = shown.rows.map((row, i) => [name("rows", row), ...Array.from(shown.weights.subarray(i * wide, (i + 1) * wide), String)]);
  const all = [['""', ...shown.columns.map((column) => name("columns", column))], ...lines];
  return new Blob(["\ufeff" + all.map((line) => line.join(",")).join("\r\n") + "\r\n"], { type: "text/csv" });
}

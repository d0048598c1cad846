// Weights over a picture: one panel for each row, or for each head of a single row; the more orange, the more weight.

import type { Colours } from "./colour";
import { fit, type Painter } from "./painter";
import { lineOf, standing, type Shown } from "./shown";
import type { Picture } from "./stage";
import type { AttentionMap, Place, Region } from "./types";
import { percent } from "./visible";

const size = 13;
const gap = 16;
const head = 22; // above a panel, for its name
const strongest = 0.85; // the picture is seen even through the largest weight
const [more, less] = ["#ff800d", "#2f7ed8"]; // seen on black and on white, so the same in every theme

// As src/regard/look/picture.py has it: letters of base64 alone, and no SVG.
export const isPicture = (text: string): boolean => /^data:image\/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/]+={0,2}$/.test(text);

export const inPicture = (map: AttentionMap): boolean =>
  map.columns.length > 0 && map.columns.every((one) => one.kind === "box") && isPicture(map.source);

interface Box {
  x: number; // fractions of the picture
  y: number;
  wide: number;
  high: number;
}

const boxOf = ({ left = 0, top = 0, right = 0, bottom = 0 }: Region): Box => ({ x: left, y: top, wide: right - left, high: bottom - top });

const known = new Map<string, HTMLImageElement>();

// Its size is known once it is read; `again` then draws anew.
export function imageOf(source: string, again: () => void): HTMLImageElement {
  const before = known.get(source);
  if (before) return before;
  const image = new Image();
  image.addEventListener("load", again);
  image.src = source;
  known.set(source, image);
  return image;
}

// How the boxes lie if they are a grid of equal parts: the column and the line of each.
function grid(boxes: Box[]): { across: number; down: number; at: [number, number][] } | null {
  const [across, down] = [Math.round(1 / boxes[0].wide), Math.round(1 / boxes[0].high)];
  const at = boxes.map((box): [number, number] => [Math.round(box.x * across), Math.round(box.y * down)]);
  const even = boxes.every((box, j) =>
    Math.abs(box.wide * across - 1) + Math.abs(box.high * down - 1) + Math.abs(box.x * across - at[j][0]) + Math.abs(box.y * down - at[j][1]) < 1e-3);
  return even && across * down === boxes.length ? { across, down, at } : null;
}

// The weights of a grid as a picture that a browser smooths; blue is less, as between two runs.
function smoothed(shares: number[], { across, down, at }: NonNullable<ReturnType<typeof grid>>): string {
  const [small, large] = [document.createElement("canvas"), document.createElement("canvas")];
  const fine = Math.ceil(320 / Math.max(across, down));
  [small.width, small.height, large.width, large.height] = [across, down, across * fine, down * fine];
  const [cells, on] = [small.getContext("2d"), large.getContext("2d")];
  if (!cells || !on) return "";
  shares.forEach((share, j) => {
    cells.globalAlpha = strongest * Math.min(1, Math.abs(share));
    cells.fillStyle = share < 0 ? less : more;
    cells.fillRect(at[j][0], at[j][1], 1, 1);
  });
  on.imageSmoothingQuality = "high";
  on.drawImage(small, 0, 0, large.width, large.height);
  return large.toDataURL();
}

// Either one map of several rows, or the heads of a single row.
export function picture(all: Shown[], room: number, again: () => void, smooth = false): Picture {
  const { map, columns } = all[0];
  const image = imageOf(map.source, again);
  const boxes = columns.map((index) => boxOf(map.columns[index]));
  const cells = smooth ? grid(boxes) : null;
  const panels = all.length > 1
    ? all.map((shown, panel) => ({ shown, at: 0, panel, name: map.names[panel] }))
    : all[0].rows.map((row, at) => ({ shown: all[0], at, panel: undefined, name: map.rows[row].text }));
  const quarter = Math.max(140, Math.min(220, (room - 3 * gap) / 4));
  const side = Math.min(room, panels.length === 1 ? 400 : panels.length > 12 ? 140 : quarter);
  const [natural, tall] = image.naturalWidth ? [image.naturalWidth, image.naturalHeight] : [1, 1];
  const wide = (side * natural) / Math.max(natural, tall);
  const high = (side * tall) / Math.max(natural, tall);
  const across = Math.max(1, Math.min(panels.length, Math.floor((room + gap) / (wide + gap))));
  const corner = (number: number): [number, number] =>
    [(number % across) * (wide + gap), Math.floor(number / across) * (high + head + gap) + head];

  const square = (p: Painter, x: number, y: number, j: number, ink: Parameters<Painter["rect"]>[4]): void =>
    p.rect(x + boxes[j].x * wide, y + boxes[j].y * high, boxes[j].wide * wide, boxes[j].high * high, ink);

  function draw(p: Painter, c: Colours): void {
    panels.forEach(({ shown, at, name }, number) => {
      const [x, y] = corner(number);
      p.text(fit(name, size, wide), x, y - head / 2, { size, fill: c.ink });
      p.image(image, x, y, wide, high);
      const shares = lineOf(shown, "rows", at, shown.shares);
      if (cells) p.image(imageOf(smoothed(shares, cells), again), x, y, wide, high);
      shares.forEach((share, j) => {
        if (Math.abs(share) < 0.01) return;
        if (!cells) square(p, x, y, j, { fill: share < 0 ? less : more, alpha: strongest * Math.abs(share) });
        if (shown.links.has(at * columns.length + j)) square(p, x, y, j, { stroke: less, width: 2 });
      });
      p.rect(x, y, wide, high, { stroke: c.line });
    });
  }

  function over(p: Painter, c: Colours, place: Place): void {
    const at = standing(all[0], place);
    if (at < 0) return;
    panels.forEach((panel, number) => {
      const [x, y] = corner(number);
      if (place.side === "rows") {
        if (panel.at !== at) return;
        p.rect(x - 1, y - 1, wide + 2, high + 2, { stroke: c.ink, width: 2 });
        // The parts it looks at: those with at least half of its largest weight.
        const weights = lineOf(panel.shown, "rows", at, panel.shown.weights);
        const much = Math.max(...weights) / 2;
        weights.forEach((weight, j) => {
          if (weight > 0 && weight >= much) square(p, x, y, j, { stroke: c.ink, width: 1.5 });
        });
        return;
      }
      square(p, x, y, at, { stroke: c.card, width: 4 }); // light and dark, to be seen on any picture
      square(p, x, y, at, { stroke: c.ink, width: 2 });
      const text = percent(lineOf(panel.shown, "rows", panel.at, panel.shown.weights)[at]);
      p.rect(x + wide - 48, y - head + 2, 48, head - 4, { fill: c.card });
      p.text(text, x + wide, y - head / 2, { size, fill: c.ink, align: "right", bold: true });
    });
  }

  const middle = (j: number): [number, number] => [boxes[j].x + boxes[j].wide / 2, boxes[j].y + boxes[j].high / 2];

  function nearest(x: number, y: number, from: number[]): number {
    const far = (j: number): number => Math.hypot(middle(j)[0] - x, middle(j)[1] - y);
    return from.reduce((best, j) => (best < 0 || far(j) < far(best) ? j : best), -1);
  }

  function hit(x: number, y: number): Place | null {
    const number = panels.findIndex((_, i) => {
      const [left, top] = corner(i);
      return x >= left && x <= left + wide && y >= top && y <= top + high;
    });
    if (number < 0) return null;
    const [left, top] = corner(number);
    const [u, v] = [(x - left) / wide, (y - top) / high];
    const around = [...boxes.keys()].filter((j) => {
      const box = boxes[j];
      return u >= box.x && u <= box.x + box.wide && v >= box.y && v <= box.y + box.high;
    });
    const j = nearest(u, v, around);
    const { at, panel } = panels[number];
    return j < 0 ? null : { side: "columns", index: columns[j], other: all[0].rows[at], panel };
  }

  function move(from: Place | null, key: string): Place | null {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1], Home: [0, 0], End: [0, 0] }[key];
    if (!by) return null;
    const at = from?.side === "columns" ? standing(all[0], from) : -1;
    const place = { other: from?.other ?? all[0].rows[0], panel: from?.panel ?? panels[0].panel };
    if (at < 0 || key === "Home") return { side: "columns", index: columns[0], ...place };
    if (key === "End") return { side: "columns", index: columns[columns.length - 1], ...place };
    const [x, y] = middle(at);
    // Straight ahead first: a step to the side counts twice, one backwards not at all.
    const ahead = [...boxes.keys()].filter((j) => (middle(j)[0] - x) * by[0] + (middle(j)[1] - y) * by[1] > 1e-6);
    const cost = (j: number): number => Math.abs(middle(j)[0] - x) * (by[0] ? 1 : 2) + Math.abs(middle(j)[1] - y) * (by[1] ? 1 : 2);
    const to = ahead.reduce((best, j) => (best < 0 || cost(j) < cost(best) ? j : best), -1);
    return { side: "columns", index: columns[to < 0 ? at : to], ...place };
  }

  const down = Math.ceil(panels.length / across);
  return { wide: Math.ceil(across * (wide + gap) - gap), high: Math.ceil(down * (high + head + gap)), draw, over, hit, move };
}

// One way to draw, two things to draw on: a canvas (fast, and PNG) and SVG (sharp, and text stays text).

import { channels, mix, type Colours } from "./colour";
import type { Direction } from "./types";

export interface Ink {
  fill?: string;
  stroke?: string;
  width?: number;
  alpha?: number;
  round?: number;
  dash?: boolean;
}

export interface Letters {
  size: number;
  fill: string;
  align?: "left" | "center" | "right";
  turn?: number; // degrees
  bold?: boolean;
  italic?: boolean;
  strike?: boolean;
  direction?: Direction;
}

export interface Painter {
  rect(x: number, y: number, wide: number, high: number, ink: Ink): void;
  curve(x1: number, y1: number, x2: number, y2: number, ink: Ink): void;
  text(text: string, x: number, y: number, letters: Letters): void; // y: the middle of the line
  cells(x: number, y: number, cell: number, columns: number, shares: Float64Array, c: Colours): void;
  image(image: HTMLImageElement, x: number, y: number, wide: number, high: number): void;
}

export const family = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';
const few = 128; // pixels of a picture so small that each should be seen
const font = (l: Letters): string => `${l.italic ? "italic " : ""}${l.bold ? "600 " : ""}${l.size}px ${family}`;

const ruler = document.createElement("canvas").getContext("2d");

export function measure(text: string, size: number, bold = false): number {
  if (!ruler) return text.length * size * 0.55;
  ruler.font = font({ size, fill: "", bold });
  return ruler.measureText(text).width;
}

// At most so wide, ending in … where something was cut.
export function fit(text: string, size: number, most: number): string {
  if (measure(text, size) <= most) return text;
  const letters = Array.from(text);
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(letters.slice(0, middle).join("") + "…", size) <= most) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("") + "…";
}

export class CanvasPainter implements Painter {
  constructor(private readonly on: CanvasRenderingContext2D) {}

  rect(x: number, y: number, wide: number, high: number, ink: Ink): void {
    this.begin(ink);
    this.on.beginPath();
    if (ink.round) this.on.roundRect(x, y, wide, high, ink.round);
    else this.on.rect(x, y, wide, high);
    this.end(ink);
  }

  curve(x1: number, y1: number, x2: number, y2: number, ink: Ink): void {
    const middle = (y1 + y2) / 2;
    this.begin(ink);
    this.on.beginPath();
    this.on.moveTo(x1, y1);
    this.on.bezierCurveTo(x1, middle, x2, middle, x2, y2);
    this.end(ink);
  }

  text(text: string, x: number, y: number, l: Letters): void {
    this.on.save();
    this.on.font = font(l);
    this.on.fillStyle = l.fill;
    this.on.direction = l.direction ?? "ltr";
    this.on.textAlign = l.align ?? "left";
    this.on.textBaseline = "middle";
    this.on.translate(x, y);
    if (l.turn) this.on.rotate((l.turn * Math.PI) / 180);
    this.on.fillText(text, 0, 0);
    if (l.strike) {
      const wide = this.on.measureText(text).width;
      const from = l.align === "center" ? -wide / 2 : l.align === "right" ? -wide : 0;
      this.on.fillRect(from, -0.5, wide, 1);
    }
    this.on.restore();
  }

  cells(x: number, y: number, cell: number, columns: number, shares: Float64Array, c: Colours): void {
    const rows = columns ? shares.length / columns : 0;
    if (!rows) return;
    const small = document.createElement("canvas");
    small.width = columns;
    small.height = rows;
    const pixels = new ImageData(columns, rows);
    shares.forEach((share, i) => {
      const [r, g, b] = channels(share, c);
      pixels.data[4 * i] = r;
      pixels.data[4 * i + 1] = g;
      pixels.data[4 * i + 2] = b;
      pixels.data[4 * i + 3] = 255;
    });
    small.getContext("2d")?.putImageData(pixels, 0, 0);
    this.on.imageSmoothingEnabled = false;
    this.on.drawImage(small, x, y, columns * cell, rows * cell);
  }

  image(image: HTMLImageElement, x: number, y: number, wide: number, high: number): void {
    this.on.imageSmoothingEnabled = image.naturalWidth > few;
    if (image.complete && image.naturalWidth) this.on.drawImage(image, x, y, wide, high);
  }

  private begin(ink: Ink): void {
    this.on.save();
    this.on.globalAlpha = ink.alpha ?? 1;
    this.on.setLineDash(ink.dash ? [4, 3] : []);
    this.on.lineCap = "round";
  }

  private end(ink: Ink): void {
    if (ink.fill) {
      this.on.fillStyle = ink.fill;
      this.on.fill();
    }
    if (ink.stroke) {
      this.on.strokeStyle = ink.stroke;
      this.on.lineWidth = ink.width ?? 1;
      this.on.stroke();
    }
    this.on.restore();
  }
}

const namespace = "http://www.w3.org/2000/svg";

export function svg(wide: number, high: number): SVGSVGElement {
  const root = document.createElementNS(namespace, "svg");
  root.setAttribute("width", String(wide));
  root.setAttribute("height", String(high));
  root.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  return root;
}

const short = (n: number): string => String(Math.round(n * 100) / 100);

export class SvgPainter implements Painter {
  constructor(private readonly on: SVGElement) {}

  rect(x: number, y: number, wide: number, high: number, ink: Ink): void {
    this.add("rect", { x: short(x), y: short(y), width: short(wide), height: short(high), rx: ink.round ? short(ink.round) : "" }, ink);
  }

  curve(x1: number, y1: number, x2: number, y2: number, ink: Ink): void {
    const middle = short((y1 + y2) / 2);
    const d = `M${short(x1)} ${short(y1)}C${short(x1)} ${middle} ${short(x2)} ${middle} ${short(x2)} ${short(y2)}`;
    this.add("path", { d }, { ...ink, fill: "none" });
  }

  text(text: string, x: number, y: number, l: Letters): void {
    const anchor = { left: l.direction === "rtl" ? "end" : "start", center: "middle", right: l.direction === "rtl" ? "start" : "end" };
    const made = this.add(
      "text",
      {
        x: short(x), y: short(y), "font-size": String(l.size), "font-family": family, "text-anchor": anchor[l.align ?? "left"],
        "dominant-baseline": "central", direction: l.direction ?? "", "font-weight": l.bold ? "600" : "",
        "font-style": l.italic ? "italic" : "", "text-decoration": l.strike ? "line-through" : "",
        transform: l.turn ? `rotate(${l.turn} ${short(x)} ${short(y)})` : "",
      },
      { fill: l.fill },
    );
    made.textContent = text;
  }

  cells(x: number, y: number, cell: number, columns: number, shares: Float64Array, c: Colours): void {
    shares.forEach((share, i) => {
      if (Math.abs(share) < 0.004) return; // white on white
      const row = Math.floor(i / columns);
      this.rect(x + (i - row * columns) * cell, y + row * cell, cell, cell, { fill: mix(share, c) });
    });
  }

  image(image: HTMLImageElement, x: number, y: number, wide: number, high: number): void {
    this.add("image", { x: short(x), y: short(y), width: short(wide), height: short(high), preserveAspectRatio: "none", href: image.src, "image-rendering": image.naturalWidth > few ? "" : "pixelated" }, {});
  }

  private add(tag: string, attributes: Record<string, string>, ink: Ink): SVGElement {
    const made = document.createElementNS(namespace, tag);
    const all: Record<string, string> = {
      ...attributes,
      fill: ink.fill ?? "none",
      stroke: ink.stroke ?? "",
      "stroke-width": ink.stroke ? short(ink.width ?? 1) : "",
      "stroke-linecap": ink.stroke ? "round" : "",
      "stroke-dasharray": ink.dash ? "4 3" : "",
      opacity: ink.alpha === undefined || ink.alpha === 1 ? "" : short(ink.alpha),
    };
    for (const [name, value] of Object.entries(all)) if (value !== "") made.setAttribute(name, value);
    this.on.append(made);
    return made;
  }
}

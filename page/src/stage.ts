// Where something is drawn and answers the mouse, the finger and the keys: what stands, and over it what is pointed at.

import { colours, type Colours } from "./colour";
import { set } from "./dom";
import { CanvasPainter, svg, SvgPainter, type Painter } from "./painter";
import { same, type Place } from "./types";

export interface Drawing {
  wide: number;
  high: number;
  draw(painter: Painter, c: Colours): void;
}

export interface Picture extends Drawing {
  fromRight?: boolean; // where it is wider than the page, its right end is seen first
  over(painter: Painter, c: Colours, place: Place): void;
  hit(x: number, y: number): Place | null;
  move(from: Place | null, key: string): Place | null;
}

export interface Acts {
  point(place: Place | null): void; // for a moment
  pin(place: Place | null): void; // until it or another is pinned again
}

export interface Pointed {
  point(place: Place | null): void;
}

export function stage(parent: Element, picture: Picture, kind: "canvas" | "svg", label: string, acts: Acts): Pointed {
  const c = colours();
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  const box = document.createElement("div");
  set(box, { class: "stage", role: "application", tabindex: 0, "aria-label": label, "data-key": "stage", "aria-describedby": "said" });
  box.style.setProperty("width", picture.wide + "px");
  box.style.setProperty("height", picture.high + "px");
  parent.append(scroll);
  scroll.append(box);

  if (kind === "svg") {
    const base = svg(picture.wide, picture.high);
    base.setAttribute("aria-hidden", "true");
    box.append(base);
    picture.draw(new SvgPainter(base), c);
  } else {
    picture.draw(new CanvasPainter(layer(box, picture)), c);
  }
  const top = layer(box, picture);
  const painter = new CanvasPainter(top);
  if (picture.fromRight) scroll.scrollLeft = picture.wide;
  let seen: Place | null = null;

  function point(place: Place | null): void {
    seen = place;
    top.clearRect(0, 0, picture.wide, picture.high);
    if (place) picture.over(painter, c, place);
  }

  box.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    const edge = box.getBoundingClientRect();
    const place = picture.hit(event.clientX - edge.left, event.clientY - edge.top);
    if (place || seen) acts.point(place);
  });
  box.addEventListener("pointerleave", () => acts.point(null));
  box.addEventListener("click", (event) => {
    const edge = box.getBoundingClientRect();
    const place = picture.hit(event.clientX - edge.left, event.clientY - edge.top);
    acts.pin(place);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") acts.pin(null);
    else if ((event.key === "Enter" || event.key === " ") && seen) acts.pin(seen);
    else {
      const place = picture.move(seen, event.key);
      if (!place) return;
      acts.point(place);
      reveal(scroll, picture, place);
    }
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("blur", () => acts.point(null));
  return { point };
}

// A canvas as large as the picture, sharp on any screen.
function layer(parent: Element, size: { wide: number; high: number }): CanvasRenderingContext2D {
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  const ratio = Math.min(window.devicePixelRatio || 1, 4096 / Math.max(size.wide, size.high, 1), 3);
  canvas.width = Math.max(1, Math.round(size.wide * ratio));
  canvas.height = Math.max(1, Math.round(size.high * ratio));
  parent.append(canvas);
  const on = canvas.getContext("2d");
  if (!on) throw new Error("no canvas");
  on.scale(canvas.width / Math.max(size.wide, 1), canvas.height / Math.max(size.high, 1));
  return on;
}

// Keep what the keys point at in sight.
function reveal(scroll: Element, picture: Picture, place: Place): void {
  for (let y = 4; y < picture.high; y += 4) {
    for (let x = 4; x < picture.wide; x += 4) {
      const found = picture.hit(x, y);
      if (!same(found, place) || (place.other !== undefined && found?.other !== place.other)) continue;
      if (x < scroll.scrollLeft || x > scroll.scrollLeft + scroll.clientWidth - 30) scroll.scrollLeft = x - scroll.clientWidth / 2;
      if (y < scroll.scrollTop || y > scroll.scrollTop + scroll.clientHeight - 30) scroll.scrollTop = y - scroll.clientHeight / 2;
      return;
    }
  }
}

export function step(at: number, count: number, by: number): number {
  return Math.max(0, Math.min(count - 1, at + by));
}

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
  frozen?: { left: number; above: number }; // labels that stay in sight where it is larger than its room
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
  reveal?(place: Place): void; // scroll there
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

  let under: HTMLCanvasElement | null = null;
  if (kind === "svg") {
    const base = svg(picture.wide, picture.high);
    base.setAttribute("aria-hidden", "true");
    box.append(base);
    picture.draw(new SvgPainter(base), c);
  } else {
    const drawn = layer(box, picture);
    picture.draw(new CanvasPainter(drawn), c);
    under = drawn.canvas;
  }
  const top = layer(box, picture);
  const painter = new CanvasPainter(top);
  if (picture.fromRight) scroll.scrollLeft = picture.wide;
  const scrolls = scroll.scrollWidth > scroll.clientWidth || scroll.scrollHeight > scroll.clientHeight;
  const frozen = under && scrolls ? (picture.frozen ?? null) : null;
  const again = under && frozen ? panes(box, picture, frozen, [under, top.canvas], c) : () => undefined;
  again();
  let seen: Place | null = null;

  function point(place: Place | null): void {
    seen = place;
    top.clearRect(0, 0, picture.wide, picture.high);
    if (place) picture.over(painter, c, place);
    again();
  }

  // What is under the mouse: labels that stay in sight lie over what was scrolled away.
  function hit(event: MouseEvent): Place | null {
    const [edge, view] = [box.getBoundingClientRect(), scroll.getBoundingClientRect()];
    const [x, y] = [event.clientX - view.left, event.clientY - view.top];
    return picture.hit(
      frozen && x < frozen.left ? Math.min(x, event.clientX - edge.left) : event.clientX - edge.left,
      frozen && y < frozen.above ? Math.min(y, event.clientY - edge.top) : event.clientY - edge.top,
    );
  }

  box.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    const place = hit(event);
    if (place || seen) acts.point(place);
  });
  box.addEventListener("pointerleave", () => acts.point(null));
  box.addEventListener("click", (event) => acts.pin(hit(event)));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") acts.pin(null);
    else if ((event.key === "Enter" || event.key === " ") && seen) acts.pin(seen);
    else {
      const place = picture.move(seen, event.key);
      if (!place) return;
      acts.point(place);
      reveal(scroll, picture, place, frozen ?? { left: 0, above: 0 });
    }
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("blur", () => acts.point(null));
  return { point, reveal: (place) => reveal(scroll, picture, place, frozen ?? { left: 0, above: 0 }) };
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

// The labels once more, over the picture, where they stay while the cells are scrolled under them.
function panes(
  box: Element, picture: Picture, frozen: { left: number; above: number }, from: HTMLCanvasElement[], c: Colours,
): () => void {
  const ratio = from[0].width / Math.max(picture.wide, 1);
  const made = [[picture.wide, frozen.above], [frozen.left, picture.high], [frozen.left, frozen.above]].map(([wide, high]) => {
    const canvas = document.createElement("canvas");
    set(canvas, { class: "pane", "aria-hidden": "true", width: Math.ceil(wide * ratio), height: Math.ceil(high * ratio) });
    canvas.style.setProperty("width", canvas.width / ratio + "px");
    canvas.style.setProperty("height", canvas.height / ratio + "px");
    box.append(canvas);
    return canvas;
  });
  return () => {
    for (const canvas of made) {
      const on = canvas.getContext("2d");
      if (!on) continue;
      on.fillStyle = c.card;
      on.fillRect(0, 0, canvas.width, canvas.height);
      for (const one of from) on.drawImage(one, 0, 0, canvas.width, canvas.height, 0, 0, canvas.width, canvas.height);
    }
  };
}

// Keep what the keys point at in sight.
function reveal(scroll: Element, picture: Picture, place: Place, frozen: { left: number; above: number }): void {
  for (let y = 4; y < picture.high; y += 4) {
    for (let x = 4; x < picture.wide; x += 4) {
      const found = picture.hit(x, y);
      if (!same(found, place) || (place.other !== undefined && found?.other !== place.other)) continue;
      const { left, above } = frozen;
      const [over, aside] = [y < scroll.scrollTop + above && y >= above, x < scroll.scrollLeft + left && x >= left];
      if (aside || x > scroll.scrollLeft + scroll.clientWidth - 30) scroll.scrollLeft = x - (scroll.clientWidth + left) / 2;
      if (over || y > scroll.scrollTop + scroll.clientHeight - 30) scroll.scrollTop = y - (scroll.clientHeight + above) / 2;
      return;
    }
  }
}

export function step(at: number, count: number, by: number): number {
  return Math.max(0, Math.min(count - 1, at + by));
}

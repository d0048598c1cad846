// Weights over a recording: its spectrogram, under it a line for each letter on the same axis of time, and the sound
// itself: while it plays, the letter that is heard lights up.

import { mix, type Colours } from "./colour";
import { button, make } from "./dom";
import { fit, measure, type Painter } from "./painter";
import { imageOf } from "./picture";
import { lineOf, standing, type Shown } from "./shown";
import type { Picture } from "./stage";
import type { AttentionMap, Place } from "./types";
import { percent } from "./visible";

const size = 13;
const line = 20; // pixels of a letter's line
const high = 96; // of the spectrogram
const foot = 22; // for the seconds
const beside = 96; // for the stretch of a letter
const half = 0.5; // of a letter's largest weight, down to which its neighbours belong to its stretch

// As src/regard/look/sound.py has it: letters of base64 alone.
export const isSound = (text: string): boolean => /^data:audio\/(wav|x-wav|wave|flac|ogg);base64,[A-Za-z0-9+/]+={0,2}$/.test(text);

export const inSound = (map: AttentionMap): boolean =>
  map.columns.length > 0 && map.columns.every((one) => one.kind === "interval") && isSound(map.source);

export interface Stretch {
  start: number; // seconds
  end: number;
}

// The intervals around the largest weight with at least half of it; null where nothing has a weight.
export function stretch(shown: Shown, at: number): Stretch | null {
  const weights = lineOf(shown, "rows", at, shown.weights);
  let first = weights.reduce((best, weight, j) => (weight > weights[best] ? j : best), 0);
  const least = half * weights[first];
  if (!(least > 0)) return null;
  let last = first;
  while (first > 0 && weights[first - 1] >= least) first--;
  while (last + 1 < weights.length && weights[last + 1] >= least) last++;
  const edge = (j: number): { start?: number; end?: number } => shown.map.columns[shown.columns[j]];
  return { start: edge(first).start ?? 0, end: edge(last).end ?? 0 };
}

const seconds = (time: number): string => time.toFixed(2);

// Where a time is, from the left edge of the figure.
export interface Timed extends Picture {
  at(time: number): number;
}

export function sound(shown: Shown, room: number, again: () => void): Timed {
  const { map, columns, rows } = shown;
  const image = map.spectrogram ? imageOf(map.spectrogram, again) : null;
  const times = columns.map((index) => ({ start: map.columns[index].start ?? 0, end: map.columns[index].end ?? 0 }));
  const [from, to] = [times[0].start, times[times.length - 1].end];
  const labels = rows.map((row) => fit(map.rows[row].text, size, 120));
  const left = Math.ceil(Math.max(16, ...labels.map((text) => measure(text, size)))) + 8;
  const wide = Math.max(120, room - left - beside);
  const at = (time: number): number => left + ((time - from) / Math.max(to - from, 1e-6)) * wide;
  const top = (row: number): number => high + 6 + row * line;
  const bottom = top(rows.length);
  const stretches = rows.map((_, row) => stretch(shown, row));

  function draw(p: Painter, c: Colours): void {
    if (image) p.image(image, left, 0, wide, high);
    p.rect(left, 0, wide, high, { stroke: c.line });
    rows.forEach((_, row) => {
      p.text(labels[row], left - 6, top(row) + line / 2, { size, fill: c.ink, align: "right" });
      lineOf(shown, "rows", row, shown.shares).forEach((share, j) => {
        if (Math.abs(share) < 0.01) return;
        p.rect(at(times[j].start), top(row) + 1, at(times[j].end) - at(times[j].start), line - 2, { fill: mix(share, c) });
      });
      const heard = stretches[row];
      if (heard) p.text(`${seconds(heard.start)}–${seconds(heard.end)} s`, left + wide + 6, top(row) + line / 2, { size: 11, fill: c.soft });
    });
    p.rect(left, top(0), wide, rows.length * line, { stroke: c.line });
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300].find((one) => (one / (to - from)) * wide >= 44) ?? 600;
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9; n++) {
      p.rect(at(n * step), bottom, 1, 4, { fill: c.line });
      p.text(String(Number((n * step).toFixed(1))), at(n * step), bottom + 13, { size: 11, fill: c.soft, align: "center" });
    }
    p.text("s", left + wide + 6, bottom + 13, { size: 11, fill: c.soft });
  }

  function over(p: Painter, c: Colours, place: Place): void {
    const index = standing(shown, place);
    if (index < 0) return;
    if (place.side === "rows") {
      p.rect(left - 1, top(index), wide + 2, line, { stroke: c.ink, width: 2 });
      return;
    }
    const { start, end } = times[index];
    p.rect(at(start), 0, Math.max(2, at(end) - at(start)), bottom, { stroke: c.ink, width: 1 });
    const row = rows.indexOf(place.other ?? -1);
    if (row < 0) return;
    const text = percent(lineOf(shown, "rows", row, shown.weights)[index]);
    const x = Math.min(at(end) + 4, left + wide - 44);
    p.rect(x, top(row) + 2, 44, line - 4, { fill: c.card });
    p.text(text, x + 4, top(row) + line / 2, { size, fill: c.ink, bold: true });
  }

  function hit(x: number, y: number): Place | null {
    const row = Math.floor((y - top(0)) / line);
    const inside = row >= 0 && row < rows.length;
    if (x < left) return inside ? { side: "rows", index: rows[row] } : null;
    const j = times.findIndex((one) => x >= at(one.start) && x <= at(one.end));
    if (j < 0 || y > bottom) return null;
    return inside ? { side: "columns", index: columns[j], other: rows[row] } : { side: "columns", index: columns[j] };
  }

  function move(place: Place | null, key: string): Place | null {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
    const down = { ArrowDown: 1, ArrowUp: -1 }[key];
    const index = place?.side === "columns" ? standing(shown, place) : -1;
    const row = Math.max(0, rows.indexOf(place?.other ?? (place?.side === "rows" ? place.index : rows[0])));
    if (key === "Home" || key === "End") return { side: "columns", index: columns[key === "Home" ? 0 : columns.length - 1], other: rows[row] };
    if (by) return { side: "columns", index: columns[Math.max(0, Math.min(columns.length - 1, index + by))], other: rows[row] };
    if (!down) return null;
    return { side: "columns", index: columns[Math.max(0, index)], other: rows[Math.max(0, Math.min(rows.length - 1, row + down))] };
  }

  return { wide: left + wide + beside, high: bottom + foot, draw, over, hit, move, at };
}

// The sound with its controls, and its letters, of which the one that is heard is lit. A letter plays from where it begins.
export function player(parent: Element, shown: Shown, stage: () => Element | null, drawn: Timed): () => void {
  const { map, rows } = shown;
  const box = make("div", parent, { class: "player" });
  const audio = make("audio", box, { controls: true, preload: "auto", src: map.source, "aria-label": "the recording" });
  const spoken = make("div", box, { class: "spoken", role: "group", "aria-label": "letters, by time" });
  const heard = rows.map((row, i) => ({ row, when: stretch(shown, i) })).filter((one) => !map.rows[one.row].special);
  const letters = heard.map(({ row, when }) =>
    button(spoken, map.rows[row].space ? "␣" : map.rows[row].text, () => {
      if (!when) return;
      audio.currentTime = when.start;
      void audio.play().catch(() => undefined);
    }, { class: "letter", dir: "auto", title: when ? `${seconds(when.start)}–${seconds(when.end)} s` : "" }));
  let head: HTMLElement | null = null;
  let frame = 0;

  function show(): void {
    const time = audio.currentTime;
    // The latest letter that has begun, for as long as it lasts and a moment after.
    const now = heard.reduce((best, { when }, i) => (when && when.start <= time && time <= when.end + 0.15 ? i : best), -1);
    letters.forEach((letter, i) => letter.classList.toggle("lit", i === now));
    head ??= make("div", stage(), { class: "playhead", "aria-hidden": "true" });
    head.style.setProperty("left", `${drawn.at(time)}px`);
    head.style.setProperty("height", `${drawn.high - foot}px`);
    head.hidden = time === 0 && audio.paused;
    frame = audio.paused ? 0 : requestAnimationFrame(show);
  }

  for (const event of ["play", "pause", "seeked", "timeupdate", "ended"]) {
    audio.addEventListener(event, () => {
      cancelAnimationFrame(frame);
      show();
    });
  }
  return () => {
    cancelAnimationFrame(frame);
    audio.pause();
  };
}

// Words as one reads them: the input coloured by what one output word attends to, or the other way round.

import { colours, mix, onto, type Colours } from "./colour";
import { make } from "./dom";
import { called, lineOf, standing, type Shown } from "./shown";
import type { Acts, Pointed } from "./stage";
import type { Place, Side, Region } from "./types";
import { percent } from "./visible";

const kind = (token: Region): string =>
  "token" + (token.space ? " space" : "") + (token.out ? " out" : "") + (token.special ? " special" : "");

// One line of words; those of the input show where another input begins.
export function line(parent: Element, shown: Shown, side: Side, name: string): HTMLElement[] {
  const { map } = shown;
  const letters = shown[side].every((index) => map[side][index].letter || map[side][index].special);
  make("div", parent, { class: "side", text: name, "aria-hidden": "true", dir: map.directions[side] });
  const box = make("div", parent, {
    class: letters ? "words letters" : "words", dir: map.directions[side], role: "group", "aria-label": name,
  });
  return shown[side].map((index, i) => {
    const token = map[side][index];
    if (side === "columns" && shown.breaks.includes(i)) make("span", box, { class: "between", "aria-hidden": "true" });
    return make("span", box, {
      class: kind(token), text: token.text, dir: "auto", "data-index": index, "data-key": `${side}-${index}`,
      "aria-label": `${name} ${index + 1}: ${token.text}${token.out ? ", not selected" : ""}`,
    });
  });
}

interface Dress {
  share: number;
  weight: number;
  linked: boolean;
  chosen: boolean;
}

const worn = new WeakMap<HTMLElement, string>();

// Colour a word, and write its weight under it where that is large. Only what changed is touched: there may be many.
function dress(word: HTMLElement, { share, weight, linked, chosen }: Dress, c: Colours): void {
  const heat = Math.abs(share);
  const label = heat >= 0.1 ? percent(weight).replace("%", "") : "";
  const now = [heat.toFixed(2), label, linked, chosen].join() + c.card;
  if (worn.get(word) === now) return;
  worn.set(word, now);
  word.style.backgroundColor = heat < 0.005 ? "" : mix(heat, c);
  word.dataset["heat"] = heat.toFixed(2);
  word.style.color = heat > 0.1 ? onto(heat, c) : "";
  word.classList.toggle("true", linked);
  word.classList.toggle("chosen", chosen);
  if (word.hasAttribute("aria-pressed")) word.setAttribute("aria-pressed", String(chosen));
  if (label) word.dataset["share"] = label;
  else delete word.dataset["share"];
}

const nothing: Dress = { share: 0, weight: 0, linked: false, chosen: false };

export function tint(words: HTMLElement[], of: (i: number) => Dress): void {
  const c = colours();
  words.forEach((word, i) => dress(word, of(i), c));
}

// Words coloured by one row of weights.
export function tintRow(words: HTMLElement[], shown: Shown, at: number): void {
  const [shares, weights] = [lineOf(shown, "rows", at, shown.shares), lineOf(shown, "rows", at, shown.weights)];
  tint(words, (i) => ({ ...nothing, share: shares[i], weight: weights[i] }));
}

// Colour what a place attends to, or what attends to it.
export function paint(shown: Shown, words: Record<Side, HTMLElement[]>, place: Place | null): void {
  const at = standing(shown, place);
  if (!place || at < 0) {
    for (const side of ["rows", "columns"] as const) tint(words[side], () => nothing);
    return;
  }
  const isRow = place.side === "rows";
  const wide = shown.columns.length;
  tint(words[place.side], (i) => (i === at ? { ...nothing, chosen: true } : nothing));
  tint(words[isRow ? "columns" : "rows"], (i) => {
    const k = isRow ? at * wide + i : i * wide + at;
    return { share: shown.shares[k], weight: shown.weights[k], linked: shown.links.has(k), chosen: false };
  });
}

// What is shown in colour while nothing is pointed at: the first word of the output.
export const resting = (shown: Shown): Place | null => (shown.rows.length ? { side: "rows", index: shown.rows[0] } : null);

export function text(parent: Element, shown: Shown, acts: Acts): Pointed {
  const one = shown.rows.length === 1; // a single query: its weights are the picture
  const words: Record<Side, HTMLElement[]> = {
    columns: line(parent, shown, "columns", called(shown.map, "columns")),
    rows: one ? [] : line(parent, shown, "rows", called(shown.map, "rows")),
  };
  for (const side of ["columns", "rows"] as const) operate(words, shown, side, acts);
  const rest = resting(shown); // coloured before anybody points at a word
  const point = (place: Place | null): void => paint(shown, words, one || !place ? rest : place);
  return { point };
}

// The words of the output above a picture: each lights up where it looks, and a part of the picture the words that do.
export function spoken(parent: Element, shown: Shown, acts: Acts): Pointed {
  const words: Record<Side, HTMLElement[]> = { columns: [], rows: line(parent, shown, "rows", called(shown.map, "rows")) };
  operate(words, shown, "rows", acts);
  return { point: (place) => paint(shown, words, place) };
}

// The mouse, the finger and the arrow keys on a line of words, of which one is reached by Tab.
function operate(words: Record<Side, HTMLElement[]>, shown: Shown, side: Side, acts: Acts): void {
  words[side].forEach((word, i) => {
    const place: Place = { side, index: shown[side][i] };
    word.setAttribute("role", "button");
    word.setAttribute("aria-pressed", "false");
    word.tabIndex = i ? -1 : 0;
    word.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && acts.point(place));
    word.addEventListener("pointerleave", () => acts.point(null));
    word.addEventListener("focus", () => acts.point(place));
    word.addEventListener("blur", () => acts.point(null));
    word.addEventListener("click", () => acts.pin(place));
    word.addEventListener("keydown", (event) => {
      const turn = getComputedStyle(word.parentElement ?? word).direction === "rtl" ? -1 : 1;
      const to = { ArrowRight: i + turn, ArrowLeft: i - turn, Home: 0, End: words[side].length - 1 }[event.key];
      const other = { ArrowDown: words.rows, ArrowUp: words.columns }[event.key];
      if (event.key === "Enter" || event.key === " ") acts.pin(place);
      else if (event.key === "Escape") acts.pin(null);
      else if (to !== undefined) go(words[side], words[side][to]);
      else if (other) go(other, other.find((one) => one.tabIndex === 0));
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  });
}

function go(all: HTMLElement[], to: HTMLElement | undefined): void {
  if (!to) return;
  for (const one of all) one.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

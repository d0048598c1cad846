// What is seen, said in words: for the ear, and for those who want the figures.

import { lineOf, standing, type Shown } from "./shown";
import { inPicture } from "./picture";
import { inSound } from "./sound";
import type { Place, Side } from "./types";
import { percent, quote } from "./visible";

export function say(shown: Shown, place: Place | null): string {
  const at = standing(shown, place);
  const what = inPicture(shown.map) ? "part of the picture" : inSound(shown.map) ? "moment of the recording" : "word";
  if (!place || at < 0) return `Point at a ${what}, tap it, or use the arrow keys to see what belongs to it.`;
  const { map } = shown;
  const isRow = place.side === "rows";
  const other: Side = isRow ? "columns" : "rows";
  const name = quote(map[place.side][place.index].text);
  if (place.other !== undefined) {
    const crossing = shown[other].indexOf(place.other);
    const k = isRow ? at * shown.columns.length + crossing : crossing * shown.columns.length + at;
    const crossed = crossing >= 0 ? quote(map[other][place.other].text) : "";
    if (crossed && !isRow) return `${crossed} → ${name} ${percent(shown.weights[k])}`;
    if (crossed) return `${name} ${isRow ? "→" : "←"} ${crossed} ${percent(shown.weights[k])} · ${list(shown, place, at)}`;
  }
  return name + (isRow ? " attends to " : " is attended to by ") + list(shown, place, at);
}

function list(shown: Shown, place: Place, at: number): string {
  const other: Side = place.side === "rows" ? "columns" : "rows";
  const weights = lineOf(shown, place.side, at, shown.weights);
  const best = weights
    .map((weight, i) => ({ weight, text: shown.map[other][shown[other][i]].text }))
    .filter((one) => one.weight >= 0.0005)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, 4);
  return best.map((one) => `${quote(one.text)} ${percent(one.weight)}`).join(", ") || "nothing";
}

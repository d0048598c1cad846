// Live only: a pinned input word can be left out or replaced, and the two answers stand side by side.

import { button, make } from "./dom";
import { inPicture } from "./picture";
import { inSound } from "./sound";
import type { AttentionMap, Item } from "./types";
import { quote } from "./visible";

export interface Editing {
  again(inputs: string[], drop_tokens: number[][], left: string[]): void;
}

// Which token of which input a column is; null where the columns are not the inputs.
export function target(item: Item, map: AttentionMap, column: number): { input: number; place: number } | null {
  if (map.breaks.length !== item.inputs.length - 1 || map.columns[column]?.special !== false) return null;
  const input = map.breaks.filter((begin) => begin <= column).length;
  const begin = input ? map.breaks[input - 1] : 0;
  let place = map.columns.slice(begin, column).filter((token) => !token.special).length;
  const dropped = item.drop_tokens[input] ?? [];
  // A part that is left out is blank and keeps its place; it cannot be left out again.
  if (inPicture(map) || inSound(map)) return dropped.includes(place) ? null : { input, place };
  // Tokens left out before it are not among the columns, but they count.
  for (const gone of [...dropped].sort((a, b) => a - b)) if (gone <= place) place++;
  return { input, place };
}

// Places count characters, not the halves that JavaScript counts.
export function replaced(text: string, start: number, end: number, by: string): string {
  const letters = Array.from(text);
  return [...letters.slice(0, start), by, ...letters.slice(end)].join("");
}

export function edit(parent: Element, item: Item, map: AttentionMap, column: number | null, editing: Editing): void {
  parent.replaceChildren();
  const gone = item.drop_tokens.reduce((sum, places) => sum + places.length, 0);
  const what = inPicture(map) || inSound(map) ? "part" : "token";
  if (gone) {
    make("span", parent, { class: "note", text: gone === 1 ? `One ${what} is left out.` : `${gone} ${what}s are left out.` });
    button(parent, "Put all back", () => editing.again(item.inputs, item.inputs.map(() => []), []));
  }
  const at = column === null ? null : target(item, map, column);
  if (column === null || !at) {
    const hint = inPicture(map)
      ? "Click a part of the picture to leave it out."
      : inSound(map) ? "Click a moment of the recording to leave it out." : "Pin an input word to leave it out or replace it.";
    if (!gone) make("span", parent, { class: "note", text: hint });
    return;
  }
  const word = map.columns[column];
  button(parent, `Leave out ${quote(word.text)}`, () => {
    const drop_tokens = item.inputs.map((_, i) => [...(item.drop_tokens[i] ?? []), ...(i === at.input ? [at.place] : [])]);
    editing.again(item.inputs, drop_tokens, [...(item.left ?? []), word.text]);
  }, { "data-key": "leave-out" });
  const { kind, start = -1, end = -1 } = word;
  if (kind || start < 0 || gone) return;
  const form = make("form", parent, { class: "replace" });
  const label = make("label", form, { text: "or write instead " });
  const field = make("input", label, { type: "text", value: word.raw ?? word.text, dir: "auto", "data-key": "replace" });
  make("button", form, { type: "submit", text: "Replace" });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const inputs = item.inputs.map((text, i) => (i === at.input ? replaced(text, start, end, field.value) : text));
    editing.again(inputs, item.inputs.map(() => []), []);
  });
}

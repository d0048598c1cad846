// Live only: a pinned input word can be left out or replaced, and the two answers stand side by side.

import { button, make } from "./dom";
import type { Gaze, Item } from "./types";
import { quote } from "./visible";

export interface Editing {
  again(inputs: string[], without: number[][], left: string[]): void;
}

// Which token of which input a column is; null where the columns are not the inputs.
export function target(item: Item, gaze: Gaze, column: number): { input: number; place: number } | null {
  if (gaze.breaks.length !== item.inputs.length - 1 || gaze.columns[column]?.special !== false) return null;
  const input = gaze.breaks.filter((begin) => begin <= column).length;
  const begin = input ? gaze.breaks[input - 1] : 0;
  let place = gaze.columns.slice(begin, column).filter((token) => !token.special).length;
  // Tokens left out before it are not among the columns, but they count.
  for (const gone of [...(item.without[input] ?? [])].sort((a, b) => a - b)) if (gone <= place) place++;
  return { input, place };
}

// Places count characters, not the halves that JavaScript counts.
export function replaced(text: string, start: number, end: number, by: string): string {
  const letters = Array.from(text);
  return [...letters.slice(0, start), by, ...letters.slice(end)].join("");
}

export function edit(parent: Element, item: Item, gaze: Gaze, column: number | null, editing: Editing): void {
  parent.replaceChildren();
  const gone = item.without.reduce((sum, places) => sum + places.length, 0);
  if (gone) {
    make("span", parent, { class: "note", text: gone === 1 ? "One token is left out." : `${gone} tokens are left out.` });
    button(parent, "Put all back", () => editing.again(item.inputs, item.inputs.map(() => []), []));
  }
  const at = column === null ? null : target(item, gaze, column);
  if (column === null || !at) {
    if (!gone) make("span", parent, { class: "note", text: "Pin an input word to leave it out or replace it." });
    return;
  }
  const word = gaze.columns[column];
  button(parent, `Leave out ${quote(word.text)}`, () => {
    const without = item.inputs.map((_, i) => [...(item.without[i] ?? []), ...(i === at.input ? [at.place] : [])]);
    editing.again(item.inputs, without, [...(item.left ?? []), word.text]);
  }, { "data-key": "leave-out" });
  if (word.start < 0 || gone) return;
  const form = make("form", parent, { class: "replace" });
  const label = make("label", form, { text: "or write instead " });
  const field = make("input", label, { type: "text", value: word.raw ?? word.text, dir: "auto", "data-key": "replace" });
  make("button", form, { type: "submit", text: "Replace" });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const inputs = item.inputs.map((text, i) => (i === at.input ? replaced(text, word.start, word.end, field.value) : text));
    editing.again(inputs, item.inputs.map(() => []), []);
  });
}

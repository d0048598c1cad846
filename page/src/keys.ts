// Keys that work wherever the focus is, unless someone is typing.

import { make } from "./dom";

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest("input:not([type=checkbox]):not([type=range]), textarea, select") !== null;

export function keys(act: (key: string) => boolean): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const pressed = event.target instanceof HTMLElement && event.target.closest("button, summary, [role=button]");
    if (pressed && (event.key === " " || event.key === "Enter")) return;
    if (event.target instanceof HTMLInputElement && event.target.type === "range") return;
    if (act(event.key)) event.preventDefault();
  });
}

export function help(parent: Element): void {
  const box = make("details", parent, { class: "help" });
  make("summary", box, { text: "Keys" });
  const list = make("dl", box);
  const all: [string, string][] = [
    ["1 … 5", "the views, from left to right"],
    ["[ and ]", "the example before and after"],
    ["Tab, arrows", "to a word, and from word to word, cell to cell or box to box"],
    ["Enter, Esc", "pin what is pointed at, let it go"],
    ["space, ← →, Home, End", "play, pause and step, in Steps"],
    ["h, r, d", "hide special tokens, scale by row, dark or light"],
  ];
  for (const [key, what] of all) {
    make("dt", list, { text: key });
    make("dd", list, { text: what });
  }
}

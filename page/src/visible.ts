// A text so that a person sees every character and no screen obeys one; as `visible` in regard/look/attention_map.py.

import type { Direction } from "./types";

const signs: Record<string, string> = { "\n": "↵", "\t": "⇥", "\x7f": "␡" };
const hidden = /\p{C}|\p{Zl}|\p{Zp}/u;
const mark = /\p{Mn}|\p{Me}/u;
const mostMarks = 4;

export function visible(text: string, most = 300): string {
  let shown = "";
  let marks = 0;
  let count = 0;
  for (const c of text) {
    if (count++ === most) return shown + "…";
    marks = mark.test(c) ? marks + 1 : 0;
    if (marks > mostMarks) continue;
    const number = c.codePointAt(0) ?? 0;
    if (signs[c]) shown += signs[c];
    else if (c < " ") shown += String.fromCharCode(0x2400 + number);
    else if (c === "\u200c" || c === "\u200d") shown += c;
    else if (hidden.test(c)) shown += `⟨U+${number.toString(16).toUpperCase().padStart(4, "0")}⟩`;
    else shown += c;
  }
  return shown;
}

// Where a text begins, by its first letter that has a direction.
export const direction = (text: string): Direction => {
  const found = /[\p{L}\u0660-\u0669]/u.exec(text)?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(found) ? "rtl" : "ltr";
};

// Text of any direction, isolated (U+2068 … U+2069) from the sentence around it.
export const quote = (text: string): string => `\u2068“${text}”\u2069`;

// Two places behind the point, with a true minus.
export const signed = (number: number): string => {
  const close = Math.abs(number) < 0.005 && Math.abs(number) >= 0.00005;
  return (close ? number.toPrecision(1) : number.toFixed(2)).replace(/^-(0\.00$)?/, (_, none) => none ?? "−");
};

export const percent = (weight: number): string => {
  const share = Math.abs(weight) * 100;
  return (weight < 0 ? "−" : "") + (share >= 9.95 ? Math.round(share) : +share.toFixed(1)) + "%";
};

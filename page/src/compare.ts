// What changed between two items: the answer, the largest moves of weight, and all of them as a matrix.

import { difference } from "./diff";
import { make } from "./dom";
import { matrix } from "./matrix";
import { stage } from "./stage";
import type { Options } from "./shown";
import type { Gaze, Item } from "./types";
import { percent, quote, signed, visible } from "./visible";

export function compare(parent: Element, a: Item, b: Item, gazes: [Gaze, Gaze], panel: number, options: Options, room: number): void {
  const box = make("section", parent, { class: "changes", "aria-label": "what changed" });
  make("h2", box, { text: "What changed" });
  const answers = make("p", box, { dir: "auto" });
  if (a.inputs.length) {
    answers.textContent =
      a.answer === b.answer
        ? `Both answered ${quote(visible(a.answer))}` + sure(a, b)
        : `The answer went from ${quote(visible(a.answer))} to ${quote(visible(b.answer))}` + sure(a, b);
  }
  const found = difference(gazes[0], gazes[1], panel, options);
  if (!found) {
    make("p", box, { class: "note", text: "The two have no words in common, so their weights cannot be compared." });
    return;
  }
  if (!found.largest.length) {
    make("p", box, { class: "note", text: "No weight moved by more than 0.05%." });
    return;
  }
  const list = make("ul", box);
  for (const one of found.largest) {
    const what = gazes[0].rows.length === 1 ? quote(one.column) : `${quote(one.row)} → ${quote(one.column)}`;
    make("li", list, { dir: "auto", text: `${what}: ${percent(one.before)} became ${percent(one.after)}` });
  }
  const picture = matrix(found.shown, room);
  const nothing = { point: (): void => undefined, pin: (): void => undefined };
  stage(box, picture, "canvas", "matrix of differences of weight", nothing);
  const key = make("div", box, { class: "legend" });
  const scale = make("span", key, { text: percent(-found.shown.top) });
  make("span", scale, { class: "bar both-ways" });
  scale.append("+" + percent(found.shown.top));
  make("span", key, { text: "of the words that are in both; blue is more in the second, orange less" });
}

function sure(a: Item, b: Item): string {
  if (a.log_prob === null || b.log_prob === null) return ".";
  return ` (log-probability ${signed(a.log_prob)} and ${signed(b.log_prob)}).`;
}

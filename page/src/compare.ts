// What changed between two items: the answer, the largest moves of weight, and all of them as a matrix.

import { difference } from "./diff";
import { make } from "./dom";
import { matrix } from "./matrix";
import { inPicture, picture } from "./picture";
import { stage } from "./stage";
import type { Options } from "./shown";
import type { AttentionMap, Item } from "./types";
import { percent, quote, signed, visible } from "./visible";

export function compare(parent: Element, a: Item, b: Item, maps: [AttentionMap, AttentionMap], panel: number, options: Options, room: number): void {
  const box = make("section", parent, { class: "changes", "aria-label": "what changed" });
  make("h2", box, { text: "What changed" });
  const answers = make("p", box, { dir: "auto" });
  if (a.inputs.length) {
    answers.textContent =
      a.answer === b.answer
        ? `Both answered ${quote(visible(a.answer))}` + sure(a, b)
        : `The answer went from ${quote(visible(a.answer))} to ${quote(visible(b.answer))}` + sure(a, b);
  }
  const found = difference(maps[0], maps[1], panel, options);
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
    const what = maps[0].rows.length === 1 ? quote(one.column) : `${quote(one.row)} → ${quote(one.column)}`;
    make("li", list, { dir: "auto", text: `${what}: ${percent(one.before)} became ${percent(one.after)}` });
  }
  const seen = inPicture(found.shown.map);
  const drawn = seen ? picture([found.shown], room, () => undefined) : matrix(found.shown, room);
  const nothing = { point: (): void => undefined, pin: (): void => undefined };
  stage(box, drawn, seen ? "svg" : "canvas", "differences of weight", nothing);
  const key = make("div", box, { class: "legend" });
  const scale = make("span", key, { text: percent(-found.shown.top) });
  make("span", scale, { class: seen ? "bar both-ways over" : "bar both-ways" });
  scale.append("+" + percent(found.shown.top));
  make("span", key, { text: seen ? "orange is more in the second, blue less" : "of the words that are in both; blue is more in the second, orange less" });
}

function sure(a: Item, b: Item): string {
  if (a.log_prob === null || b.log_prob === null) return ".";
  return ` (log-probability ${signed(a.log_prob)} and ${signed(b.log_prob)}).`;
}

// What was asked and answered, and what else could have been said.

import { make } from "./dom";
import type { Item, Run } from "./types";
import { percent, quote, signed, visible } from "./visible";

export const asked = (item: Item): string => item.inputs.map((one) => visible(one, 120)).join("  |  ");

const apart = (text: string): string => `\u2068${text}\u2069`; // whatever its direction

export const named = (item: Item, index: number): string =>
  item.inputs.length
    ? `${index + 1}. ${apart(asked(item))} → ${apart(visible(item.answer, 60))}`
    : `${index + 1}. ${item.gazes[0]?.title || "untitled"}`;

const chance = (score: number | null): number => (score === null ? 0 : Math.exp(score));

// Whether the answer is a number between the others, and these are all there is: they leave no room for it.
const isMean = (item: Item): boolean => item.others.reduce((sum, one) => sum + chance(one.score), 0) > 1 - chance(item.score) / 2;

export function answer(parent: Element, item: Item, run: Run | undefined): void {
  if (!item.inputs.length) return;
  const box = make("div", parent, { class: "answer" });
  const question = make("div", box, { class: "asked" });
  item.inputs.forEach((text, i) => {
    const line = make("div", question, { dir: "auto" });
    const role = run?.roles[i];
    if (role && item.inputs.length > 1) make("span", line, { class: "role", text: role });
    line.append(visible(text, 400));
  });
  const gone = item.without.reduce((sum, places) => sum + places.length, 0);
  const left = item.left?.length ? item.left.map(quote).join(", ") : gone === 1 ? "one token" : `${gone} tokens`;
  if (gone) make("div", question, { class: "gone", text: `without ${left}` });
  const line = make("div", box, { class: "said-answer" });
  make("span", line, { class: "arrow", text: "→", "aria-label": "answer" });
  make("strong", line, { text: visible(item.answer, 400) || "∅", dir: "auto" });
  const labels = run && !run.searches && item.others.length > 0;
  const mean = labels && isMean(item);
  if (item.score !== null && labels && !mean) make("span", line, { class: "note", text: percent(Math.exp(item.score)) });
  if (item.score !== null && run?.searches) make("span", line, { class: "note", text: `log-probability ${signed(item.score)}` });
  if (!item.others.length) return;
  const more = make("details", box, { class: "others" });
  const all = mean ? item.others : [{ text: item.answer, score: item.score }, ...item.others];
  const kind = mean ? "steps of the scale" : "labels";
  make("summary", more, { text: labels ? `${all.length} ${kind}` : `${item.others.length} other answers` });
  const list = make("ol", more);
  for (const other of all.slice(0, 50)) {
    const row = make("li", list);
    if (labels && other.score !== null) row.style.setProperty("--p", Math.exp(other.score).toFixed(3));
    make("span", row, { text: visible(other.text, 200) || "∅", dir: "auto" });
    make("span", row, { class: "figure", text: other.score === null ? "" : labels ? percent(Math.exp(other.score)) : signed(other.score) });
  }
}

// What was asked and answered, and what else could have been said.

import { make } from "./dom";
import { isPicture } from "./picture";
import { isSound } from "./sound";
import { tags } from "./tags";
import type { Item, Probable, Run } from "./types";
import { percent, quote, signed, visible } from "./visible";

export const asked = (item: Item): string => item.inputs.map((one) => (isPicture(one) ? "picture" : isSound(one) ? "recording" : visible(one, 120))).join("  |  ");

const apart = (text: string): string => `\u2068${text}\u2069`; // whatever its direction

export const named = (item: Item, index: number): string =>
  item.inputs.length
    ? `${index + 1}. ${apart(asked(item))} → ${apart(visible(item.answer, 60))}`
    : `${index + 1}. ${item.maps[0]?.title || "untitled"}`;

// "−8.44 (−0.77 per token)", or "" where nothing is known.
export function logProb(one: Probable): string {
  if (one.log_prob === null) return "";
  return signed(one.log_prob) + (one.log_prob_per_token === null ? "" : ` (${signed(one.log_prob_per_token)} per token)`);
}

// Where the answer and the second best stand in the first input, the better first.
const spans = (item: Item): [number, number][] =>
  [item, ...item.others.slice(0, 1)].flatMap((one) => (one.span ? [one.span] : []));

// A text with its answers marked. Offsets count characters, not UTF-16 units. An answer inside a better one has no mark.
function marked(parent: Element, text: string, spans: [number, number][]): void {
  const characters = Array.from(text);
  const rank = characters.map((_, at) => spans.findIndex(([start, end]) => start <= at && at < end));
  for (let at = 0; at < characters.length; ) {
    let end = at;
    while (end < characters.length && rank[end] === rank[at]) end++;
    const piece = visible(characters.slice(at, end).join(""), Infinity);
    if (rank[at] === -1) parent.append(piece);
    else make("mark", parent, { class: rank[at] ? "second" : undefined, text: piece, title: rank[at] ? "second best answer" : "answer" });
    at = end;
  }
}

export function answer(parent: Element, item: Item, run: Run | undefined): void {
  if (!item.inputs.length) return;
  const box = make("div", parent, { class: "answer", tabindex: -1 });
  const question = make("div", box, { class: "asked" });
  item.inputs.forEach((text, i) => {
    const line = make("div", question, { dir: "auto" });
    const role = run?.roles[i];
    if (role) make("span", line, { class: "role", text: role.name });
    if (isPicture(text)) make("img", line, { class: "thumb", src: text, alt: role?.name ?? "picture" });
    else if (i === 0 && spans(item).length) marked(line, text, spans(item));
    else line.append(isSound(text) ? "recording" : visible(text, 400));
  });
  const gone = item.drop_tokens.reduce((sum, places) => sum + places.length, 0);
  const left = item.left?.length ? item.left.map(quote).join(", ") : gone === 1 ? "one token" : `${gone} tokens`;
  if (gone) make("div", question, { class: "gone", text: `without ${left}` });
  if (tags(box, item, run)) return;
  const line = make("div", box, { class: "said-answer" });
  make("span", line, { class: "arrow", text: "→", "aria-label": "answer" });
  make("strong", line, { text: visible(item.answer, 400) || "∅", dir: "auto" });
  const labels = run && !run.searches && item.others.length > 0;
  const mean = labels && item.log_prob === null; // a number between steps of a scale, which has no probability
  if (item.log_prob !== null && labels) make("span", line, { class: "note", text: percent(Math.exp(item.log_prob)) });
  if (item.log_prob !== null && !labels) make("span", line, { class: "note", text: `log-probability ${logProb(item)}` });
  if (!item.others.length) return;
  const more = make("details", box, { class: "others" });
  const all = mean ? item.others : [{ ...item, text: item.answer }, ...item.others];
  const kind = mean ? "steps of the scale" : spans(item).length ? "answers" : "labels";
  make("summary", more, { text: labels ? `${all.length} ${kind}` : item.others.length === 1 ? "1 other answer" : `${item.others.length} other answers` });
  const list = make("ol", more);
  for (const other of all.slice(0, 50)) {
    const row = make("li", list);
    const chance = labels && other.log_prob !== null ? Math.exp(other.log_prob) : null;
    if (chance !== null) row.style.setProperty("--p", chance.toFixed(3));
    make("span", row, { text: visible(other.text, 200) || "∅", dir: "auto" });
    make("span", row, { class: "figure", text: chance === null ? logProb(other) : percent(chance) });
  }
}

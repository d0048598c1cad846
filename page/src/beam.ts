// The beam beside the steps: every hypothesis that was kept, best first, and which of them led to the answer.

import { make } from "./dom";
import type { Hypothesis } from "./types";
import { signed } from "./visible";

// For each step the place of the hypothesis that the answer came from; −1 where it had ended before.
export function path(steps: Hypothesis[][], answer: string[]): number[] {
  const marks = /^<\/?[a-z]+>$/;
  const bare = (tokens: string[]): string => tokens.filter((one) => !marks.test(one)).join("\u0000");
  const wanted = bare(answer);
  let at = -1;
  let last = -1;
  steps.forEach((step, i) => {
    const found = step.findIndex((one) => one.ended && bare(one.tokens) === wanted);
    if (found >= 0 && last < 0) [last, at] = [i, found];
  });
  if (last < 0) [last, at] = [steps.length - 1, 0];
  const places = steps.map(() => -1);
  for (let i = last; i >= 0 && at >= 0; i--) {
    places[i] = at;
    at = steps[i][at]?.parent ?? -1;
  }
  return places;
}

export function beam(parent: Element, steps: Hypothesis[][], step: number, on: number, join: string): void {
  parent.replaceChildren();
  const now = steps[Math.min(step, steps.length - 1)] ?? [];
  make("div", parent, { class: "side", text: `Beam at step ${Math.min(step, steps.length - 1) + 1}` });
  const list = make("ol", parent, { class: "beam" });
  const sums = now.map((one) => one.log_prob ?? -Infinity);
  const best = Math.max(...sums);
  now.forEach((one, i) => {
    const row = make("li", list, { class: i === on ? "hypothesis on" : "hypothesis" });
    row.style.setProperty("--p", Math.exp(sums[i] - best).toFixed(3));
    const words = make("span", row, { class: "so-far", dir: "auto" });
    make("span", words, { text: one.tokens.slice(0, -1).join(join) + (one.tokens.length > 1 ? join : "") });
    make("b", words, { text: one.tokens.at(-1) ?? "" });
    const from = step > 0 && one.parent >= 0 ? `from ${one.parent + 1}` : "";
    make("span", row, { class: "note", text: [from, one.ended ? "ended" : ""].filter(Boolean).join(", ") });
    make("span", row, { class: "figure", text: one.log_prob === null ? "" : signed(one.log_prob) });
  });
  make("p", parent, { class: "note", text: "log-probability so far; the marked one became the answer" });
}

// How far the weights of a run explain its answers, where that was measured: one line, and the figures on demand.

import { make } from "./dom";
import type { Badge } from "./types";
import { visible } from "./visible";

const levels = ["weak", "mixed", "strong"];

export function badge(parent: Element, of: Badge): void {
  const level = levels.find((one) => one === of.level) ?? "mixed";
  const box = make("details", parent, { class: `badge ${level}` });
  const line = make("summary", box);
  make("span", line, { class: "level", text: `Faithfulness: ${level}` });
  const whole = visible(of.verdict, 600);
  const short = /^.{20,120}?[:;.](?= )/u.exec(whole)?.[0].slice(0, -1) ?? whole; // its first clause says it
  make("span", line, { text: short + (short === whole ? "" : " …"), dir: "auto" });
  if (short !== whole) make("p", box, { text: whole, dir: "auto" });
  const table = make("table", box);
  for (const [name, value] of figures(of)) {
    const row = make("tr", table);
    make("th", row, { scope: "row", text: name });
    make("td", row, { text: value });
  }
}

function figures(of: Record<string, unknown>, before = ""): [string, string][] {
  return Object.entries(of).flatMap(([key, value]): [string, string][] => {
    const name = visible((before ? before + ", " : "") + key.replaceAll("_", " "));
    if (!before && (key === "verdict" || key === "level")) return [];
    if (typeof value === "number") return [[name, Number.isInteger(value) ? String(value) : value.toPrecision(3)]];
    if (typeof value === "string") return [[name, visible(value)]];
    if (value && typeof value === "object" && !Array.isArray(value)) return figures(value as Record<string, unknown>, name);
    return [];
  });
}

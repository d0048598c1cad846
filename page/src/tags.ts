// A text with a label for each of its parts, as a tagger answers: neighbours of one label stand together.

import { make } from "./dom";
import type { Item, Run } from "./types";
import { visible } from "./visible";

interface Group {
  label: string;
  parts: string[];
}

// Words or characters of the text, whichever there are as many of as labels; null where neither fits.
function parts(text: string, count: number): string[] | null {
  return [text.split(/\s+/).filter(Boolean), Array.from(text)].find((all) => all.length === count) ?? null;
}

function groups(texts: string[], labels: string[]): Group[] {
  const found: Group[] = [];
  texts.forEach((text, i) => {
    const label = labels[i].replace(/^[BIES]-/, "");
    const last = found.at(-1);
    if (last?.label === label && !/^[BS]-/.test(labels[i])) last.parts.push(text);
    else found.push({ label, parts: [text] });
  });
  return found;
}

// Whether it could be shown so; otherwise the answer is shown as a text.
export function tags(parent: Element, item: Item, run: Run | undefined): boolean {
  if (run?.task !== "tag" || item.inputs.length !== 1 || item.drop_tokens.some((places) => places.length)) return false;
  const labels = item.answer.split(" ");
  const texts = parts(item.inputs[0], labels.length);
  if (!texts) return false;
  const join = texts.length === item.inputs[0].split(/\s+/).filter(Boolean).length ? " " : "";
  const box = make("div", parent, { class: "tags", dir: "auto" });
  for (const { label, parts } of groups(texts, labels)) {
    const one = make("span", box, { class: /^(O|none|-)$/i.test(label) ? "tagged plain" : "tagged" });
    make("span", one, { text: visible(parts.join(join), 200), dir: "auto" });
    make("small", one, { text: visible(label, 60) });
  }
  return true;
}

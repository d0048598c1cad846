// What was asked and answered, above a picture that is saved, and below it what its colours stand for.

import { mix } from "./colour";
import type { Figure } from "./figure";
import { shifted } from "./flow";
import { measure, type Painter } from "./painter";
import { isPicture } from "./picture";
import { isSound } from "./sound";
import type { Drawing } from "./stage";
import type { State } from "./state";
import type { Item } from "./types";
import { direction, percent, visible } from "./visible";

const size = 16;
const high = 24; // of a line
const narrowest = 360;
const most = 6; // lines of an input
const below = 34;

// Lines of words, each at most so wide.
function wrapped(text: string, wide: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1];
    const longer = line ? `${line} ${word}` : word;
    if (!line || measure(longer, size, true) <= wide) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.length > most ? [...lines.slice(0, most - 1), lines[most - 1] + " …"] : lines;
}

export function captioned(figure: Figure, item: Item, state: State): Drawing {
  const plain = figure.drawing();
  const wide = Math.max(plain.wide, narrowest);
  const asked = item.inputs.flatMap((text) => wrapped(isPicture(text) ? "picture" : isSound(text) ? "recording" : visible(text, 400), wide));
  const said = item.inputs.length ? wrapped(`→ ${visible(item.answer, 400) || "∅"}`, wide) : [];
  const lines = item.inputs.length ? [...asked, ...said] : figure.map.title ? wrapped(figure.map.title, wide) : [];
  const above = lines.length ? lines.length * high + 14 : 0;
  return {
    wide,
    high: above + plain.high + below,
    draw(p, c) {
      lines.forEach((text, i) => {
        const way = direction(text);
        const bold = i >= asked.length;
        const letters = { size, fill: bold ? c.ink : c.soft, bold, direction: way } as const;
        p.text(text, way === "rtl" ? wide : 0, high * (i + 0.5), { ...letters, align: way === "rtl" ? "right" : "left" });
      });
      plain.draw(above ? shifted(p, above) : p, c);
      scale(p, above + plain.high + below / 2);

      function scale(on: Painter, y: number): void {
        const end = state.scale === "row" ? "largest weight of the row" : percent(figure.shown.top);
        on.text("weight: 0", 0, y, { size: 12, fill: c.soft });
        const x = measure("weight: 0", 12) + 8;
        for (let i = 0; i < 12; i++) {
          const share = (i + 0.5) / 12;
          on.rect(x + 8 * i, y - 6, 8, 12, figure.view === "picture" ? { fill: "#ff800d", alpha: 0.85 * share } : { fill: mix(share, c) });
        }
        on.rect(x, y - 6, 96, 12, { stroke: c.line });
        on.text(end, x + 104, y, { size: 12, fill: c.soft });
      }
    },
  };
}

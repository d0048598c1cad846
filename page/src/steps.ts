// Generation played step by step: the output grows, the input is coloured by what the newest word attends to.

import { beam, path } from "./beam";
import { button, make } from "./dom";
import { called, type Shown } from "./shown";
import type { Acts, Pointed } from "./stage";
import { line, paint } from "./text";
import type { Hypothesis, Place, Side } from "./types";

export interface Playing extends Pointed {
  stop(): void;
  key(key: string): boolean;
}

const pace = 700; // milliseconds a step

export function steps(
  parent: Element, shown: Shown, beams: Hypothesis[][] | null, begin: number, acts: Acts, keep: (step: number) => void,
): Playing {
  const last = Math.max(0, shown.rows.length - 1);
  let now = Math.min(begin, last);
  let timer = 0;
  const bar = make("div", parent, { class: "player", role: "group", "aria-label": "steps" });
  const name = { back: "Step back (←)", play: "Play (space)", on: "Step on (→)" };
  button(bar, "|◀", () => go(0), { "aria-label": "First step (Home)", title: "First step (Home)", "data-key": "first" });
  button(bar, "◀", () => go(now - 1), { "aria-label": name.back, title: name.back, "data-key": "back" });
  const play = button(bar, "▶", toggle, { class: "play", "aria-label": name.play, title: name.play, "data-key": "play" });
  button(bar, "▶|", () => go(now + 1), { "aria-label": name.on, title: name.on, "data-key": "on" });
  const slider = make("input", bar, { type: "range", min: 0, max: last, "aria-label": "step", "data-key": "slider" });
  slider.addEventListener("input", () => go(Number(slider.value)));
  const count = make("span", bar, { class: "count" });

  const both = make("div", parent, { class: beams ? "both" : "" });
  const main = make("div", both);
  const words: Record<Side, HTMLElement[]> = {
    columns: line(main, shown, "columns", called(shown.map, "columns")),
    rows: line(main, shown, "rows", called(shown.map, "rows")),
  };
  const aside = beams ? make("div", both, { class: "aside" }) : null;
  const answer = shown.map.rows.map((token) => token.text);
  const on = beams ? path(beams, answer) : [];
  const letters = shown.map.rows.every((token) => token.letter || token.special);

  words.rows.forEach((word, i) => {
    word.addEventListener("click", () => go(i));
    word.addEventListener("pointerenter", () => !timer && acts.point({ side: "rows", index: shown.rows[i] }));
    word.addEventListener("pointerleave", () => !timer && acts.point(null));
  });

  const here = (): Place => ({ side: "rows", index: shown.rows[now] });

  function go(to: number): void {
    now = Math.max(0, Math.min(last, to));
    if (now === last) stop();
    keep(now);
    acts.point(null);
  }

  function point(place: Place | null): void {
    paint(shown, words, place?.side === "rows" ? place : shown.rows.length ? here() : null);
    words.rows.forEach((word, i) => word.classList.toggle("later", i > now));
    slider.value = String(now);
    count.textContent = `${now + 1} of ${last + 1}`;
    if (beams && aside) beam(aside, beams, now, on[Math.min(now, on.length - 1)] ?? -1, letters ? "" : " ");
  }

  function toggle(): void {
    if (timer) return stop();
    if (now === last) now = -1;
    timer = window.setInterval(() => go(now + 1), pace);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Pause (space)");
    go(now + 1);
  }

  function stop(): void {
    window.clearInterval(timer);
    timer = 0;
    play.textContent = "▶";
    play.setAttribute("aria-label", name.play);
  }

  function key(name: string): boolean {
    const act = {
      " ": toggle, ArrowRight: () => go(now + 1), ArrowLeft: () => go(now - 1), Home: () => go(0), End: () => go(last),
    }[name];
    act?.();
    return act !== undefined;
  }

  return { point, stop, key };
}

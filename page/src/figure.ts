// One item drawn in one view: the view itself, what is said of it, what its marks mean.

import { arcs, drawn, many } from "./arcs";
import { answer } from "./answer";
import { badge } from "./badge";
import { make } from "./dom";
import { flow, list } from "./flow";
import { legend } from "./legend";
import { matrix } from "./matrix";
import { byLine, offered as several, panels, sheet } from "./panels";
import { say } from "./say";
import { show, type Shown } from "./shown";
import { stage, type Acts, type Drawing, type Pointed } from "./stage";
import type { State, View } from "./state";
import { steps } from "./steps";
import { text } from "./text";
import type { Gaze, Item, Place, Run, Scene } from "./types";

export interface Figure {
  gaze: Gaze;
  shown: Shown;
  view: View;
  point(place: Place | null): void;
  pin(place: Place | null): void;
  drawing(): Drawing;
  key(key: string): boolean;
  stop(): void;
}

export interface Doing extends Acts {
  change(state: Partial<State>): void; // draw anew
  keep(state: Partial<State>): void; // only remember
}

// The views a gaze can be seen in.
export function offers(gaze: Gaze, item: Item, run: Run | undefined): View[] {
  const grown = gaze.rows.length > 1 && gaze.kind !== "rows" && (item.steps !== null || !run || run.searches);
  return ["matrix", "arcs", "text", ...(several(gaze) ? ["panels" as const] : []), ...(grown ? ["steps" as const] : [])];
}

export function suited(gaze: Gaze): View {
  if (gaze.rows.length === 1) return gaze.heads.length > 1 ? "panels" : "text";
  return several(gaze) ? "panels" : "matrix";
}

export function figure(parent: Element, scene: Scene, item: Item, state: State, doing: Doing): Figure {
  const run = scene.runs[item.run];
  const gaze = item.gazes[Math.min(state.gaze, item.gazes.length - 1)];
  const can = offers(gaze, item, run);
  const view = state.view && can.includes(state.view) ? state.view : suited(gaze);
  const panel = Math.min(state.panel, gaze.heads.length - 1);
  const box = make("figure", parent);
  answer(box, item, run);
  if (gaze.title && !item.inputs.length) make("h2", box, { text: gaze.title, dir: "auto" });
  else if (state.gaze && gaze.title) make("h3", box, { text: gaze.title, dir: "auto" });
  if (run?.badge) badge(box, run.badge);
  const said = make("p", box, { class: "said", "aria-live": "polite", dir: "auto", id: parent.querySelector("#said") ? undefined : "said" });
  const area = make("div", box, { class: `view is-${view}` });
  const room = Math.max(240, area.clientWidth);
  const shown = show(gaze, panel, state);
  const label = { matrix: "matrix of weights, rows are output, columns input", arcs: "arcs from output words to input words" };
  const one = shown.rows.length === 1;
  let drawing: () => Drawing;
  let pointed: Pointed;
  let key: (key: string) => boolean = () => false;
  let stop = (): void => undefined;
  let pinned: Place | null = null;

  if (view === "matrix" || view === "arcs") {
    const picture = view === "matrix" ? matrix(shown, room) : arcs(shown, room);
    const kind = view === "arcs" && drawn(shown) <= many ? "svg" : "canvas";
    pointed = stage(area, picture, kind, label[view], doing);
    drawing = () => ({
      ...picture,
      draw: (p, c) => {
        picture.draw(p, c);
        if (pinned) picture.over(p, c, pinned);
      },
    });
  } else if (view === "text") {
    pointed = text(area, shown, doing);
    drawing = () => flow(shown, pinned);
  } else if (view === "panels") {
    let all = false;
    const again = (): void => {
      area.replaceChildren();
      panels(area, gaze, state, panel, all, {
        open: (head) => doing.change({ panel: head, view: byLine(gaze) ? "text" : "matrix" }),
        row: (row) => doing.change({ pin: { side: "rows", index: row }, view: "text" }),
        all: () => ((all = true), again()),
      });
    };
    again();
    pointed = { point: () => undefined };
    const rows = (): { shown: Shown; row: { at: number; name: string } }[] =>
      gaze.kind === "rows"
        ? shown.rows.map((row, at) => ({ shown, row: { at, name: gaze.rows[row].text } }))
        : gaze.heads.map((_, head) => ({ shown: show(gaze, head, state), row: { at: 0, name: gaze.names[head] } }));
    drawing = () => (byLine(gaze) ? list(rows()) : sheet(gaze, state));
  } else {
    let now = state.step;
    const playing = steps(area, shown, item.steps, state.step, doing, (step) => {
      now = step;
      doing.keep({ step });
    });
    pointed = playing;
    ({ key, stop } = playing);
    drawing = () => flow(shown, { side: "rows", index: shown.rows[Math.min(now, shown.rows.length - 1)] }, now);
    const plain = pointed.point;
    pointed = {
      point: (place) => {
        plain(place);
        said.textContent = say(shown, place ?? { side: "rows", index: shown.rows[Math.min(now, shown.rows.length - 1)] });
      },
    };
  }
  legend(box, shown, view, state);

  function point(place: Place | null): void {
    const seen = place ?? pinned;
    if (view === "panels") said.textContent = "Choose one to enlarge it.";
    else said.textContent = say(shown, seen ?? (one ? { side: "rows", index: shown.rows[0] } : null));
    pointed.point(view === "steps" ? place : seen);
  }

  function pin(place: Place | null): void {
    pinned = place;
    point(null);
  }

  return { gaze, shown, view, point, pin, drawing, key, stop };
}

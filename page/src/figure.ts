// One item drawn in one view: the view itself, what is said of it, what its marks mean.

import { arcs, drawn, many } from "./arcs";
import { answer } from "./answer";
import { badge } from "./badge";
import { make } from "./dom";
import { flow, list } from "./flow";
import { gridSheet, overview } from "./grid";
import { legend } from "./legend";
import { matrix } from "./matrix";
import { inbox } from "./inbox";
import { inPicture, picture } from "./picture";
import { inSound, player, sound, type Timed } from "./sound";
import { byLine, offered as several, panels, sheet } from "./panels";
import { say } from "./say";
import { lineOf, show, standing, type Shown } from "./shown";
import { stage, type Acts, type Drawing, type Pointed } from "./stage";
import type { State, View } from "./state";
import { steps } from "./steps";
import { resting, spoken, text } from "./text";
import type { AttentionMap, Item, Place, Run, Scene } from "./types";

export interface Figure {
  map: AttentionMap;
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

const crowded = 20_000; // cells, from which a canvas is quicker than SVG

// The views an attention map can be seen in.
export function offers(map: AttentionMap, item: Item, run: Run | undefined): View[] {
  if (inPicture(map)) return ["picture", "matrix"];
  if (inSound(map)) return ["sound", "matrix"];
  const grown = map.rows.length > 1 && !map.grid && map.panels !== "rows" && (item.steps !== null || !run || run.searches);
  return ["matrix", "arcs", "text", ...(several(map) ? ["panels" as const] : []), ...(grown ? ["steps" as const] : [])];
}

export function suited(map: AttentionMap): View {
  if (inPicture(map)) return "picture";
  if (inSound(map)) return "sound";
  if (map.rows.length === 1 && !map.grid) return map.heads.length > 1 ? "panels" : "text";
  return several(map) ? "panels" : "matrix";
}

export interface Seen {
  view: View;
  can: View[];
  map: AttentionMap;
}

// `controls` puts what can be chosen under the answer, where it does not stand above the figure.
export function figure(
  parent: Element, scene: Scene, item: Item, state: State, doing: Doing, controls?: (parent: Element, seen: Seen) => void,
): Figure {
  const run = scene.runs[item.run];
  const map = item.maps[Math.min(state.map, item.maps.length - 1)];
  const can = offers(map, item, run);
  const view = state.view && can.includes(state.view) ? state.view : suited(map);
  const panel = Math.min(state.panel, map.heads.length - 1);
  const box = make("figure", parent);
  if (item.suggestions) inbox(box, item, state.map, (map) => doing.change({ map, panel: 0, pin: null }));
  else answer(box, item, run);
  if (map.title && !item.inputs.length) make("h2", box, { text: map.title, dir: "auto" });
  else if (state.map && map.title) make("h3", box, { text: map.title, dir: "auto" });
  controls?.(box, { view, can, map });
  if (run?.badge) badge(box, run.badge);
  const said = make("p", box, { class: "said", "aria-live": "polite", dir: "auto", id: parent.querySelector("#said") ? undefined : "said" });
  const area = make("div", box, { class: `view is-${view}` });
  const room = Math.max(240, area.clientWidth);
  const shown = show(map, panel, state);
  const label = {
    picture: "the picture, the more orange a part the higher its weight",
    sound: "weights over time under the spectrogram, a line for each letter",
    matrix: "matrix of weights, rows are output, columns input",
    arcs: "arcs from output words to input words",
  };
  const one = shown.rows.length === 1;
  let drawing: () => Drawing;
  let pointed: Pointed;
  let key: (key: string) => boolean = () => false;
  let stop = (): void => undefined;
  let pinned: Place | null = null;

  if (view === "sound") {
    const staged: Timed = sound(shown, room, () => doing.change({}));
    stop = player(area, shown, () => area.querySelector(".stage"), staged);
    pointed = stage(area, staged, shown.weights.length <= crowded ? "svg" : "canvas", label[view], doing);
    drawing = () => staged;
  } else if (view === "picture" || view === "matrix" || view === "arcs") {
    const heads = one && !map.grid ? map.heads.map((_, head) => show(map, head, state)) : [shown];
    const words = view === "picture" && !one ? spoken(area, shown, doing) : null;
    const staged = view === "picture" ? picture(heads, room, () => doing.change({}), state.smooth) : view === "matrix" ? matrix(shown, room) : arcs(shown, room);
    const kind = view === "picture" || (view === "arcs" && drawn(shown) <= many) ? "svg" : "canvas";
    const staging = stage(area, staged, kind, label[view], doing);
    pointed = { ...staging, point: (place) => (words?.point(place), staging.point(place)) };
    drawing = () => ({
      ...staged,
      draw: (p, c) => {
        staged.draw(p, c);
        if (pinned) staged.over(p, c, pinned);
      },
    });
  } else if (view === "text") {
    pointed = text(area, shown, doing);
    drawing = () => flow(shown, pinned);
  } else if (view === "panels" && map.grid) {
    const find = state.find <= map.grid.searches.length ? state.find : 0;
    const { grid } = map;
    overview(area, map, grid, panel, find, {
      open: (head) => doing.change({ panel: head, view: "matrix" }),
      find: (search) => doing.change({ find: search }),
    });
    pointed = { point: () => undefined };
    drawing = () => gridSheet(map, grid, find);
  } else if (view === "panels") {
    let all = false;
    const again = (): void => {
      area.replaceChildren();
      panels(area, map, state, panel, all, {
        open: (head) => doing.change({ panel: head, view: byLine(map) ? "text" : "matrix" }),
        row: (row) => doing.change({ pin: { side: "rows", index: row }, view: "text" }),
        all: () => ((all = true), again()),
      });
    };
    again();
    pointed = { point: () => undefined };
    const rows = (): { shown: Shown; row: { at: number; name: string } }[] =>
      map.panels === "rows"
        ? shown.rows.map((row, at) => ({ shown, row: { at, name: map.rows[row].text } }))
        : map.heads.map((_, head) => ({ shown: show(map, head, state), row: { at: 0, name: map.names[head] } }));
    drawing = () => (byLine(map) ? list(rows()) : sheet(map, state));
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
  if (!(view === "panels" && map.grid)) legend(box, shown, view, state);

  function point(place: Place | null): void {
    const seen = place ?? pinned;
    if (view === "panels") said.textContent = "Choose one to enlarge it.";
    else said.textContent = say(seen?.panel === undefined ? shown : show(map, seen.panel, state), seen ?? (one || view === "text" ? resting(shown) : null));
    pointed.point(view === "steps" ? place : seen);
  }

  // A figure that opens with a pinned word also has in sight what that word attends to most.
  let opening = true;
  function pin(place: Place | null): void {
    pinned = place;
    point(null);
    const at = opening && place ? standing(shown, place) : -1;
    if (place && at >= 0) {
      const other = place.side === "rows" ? "columns" : "rows";
      const line = lineOf(shown, place.side, at, shown.shares).map(Math.abs);
      const best = shown[other][line.indexOf(Math.max(...line))];
      const [row, column] = place.side === "rows" ? [place.index, best] : [best, place.index];
      if (view === "matrix" && best !== undefined) pointed.reveal?.({ side: "rows", index: row, other: column });
      if (view === "arcs" && best !== undefined) pointed.reveal?.({ side: other, index: best });
      if (view === "arcs") pointed.reveal?.(place);
    }
    opening = false;
  }

  return { map, shown, view, point, pin, drawing, key, stop };
}

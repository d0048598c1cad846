// The page: reads its scene, draws it, and draws it again when something is chosen.

import * as service from "./ask";
import { fold, items, options, saving, views } from "./controls";
import { compare } from "./compare";
import { button, make } from "./dom";
import { edit } from "./edit";
import { captioned } from "./caption";
import { asCsv, asJson, asPng, asSvg, download } from "./export";
import { answer } from "./answer";
import { inbox } from "./inbox";
import { figure, offers, type Doing, type Figure, type Seen } from "./figure";
import { help, keys } from "./keys";
import { live, wanted, type Live } from "./live";
import { pictures, readPictures, ready, unpack } from "./packed";
import { isPicture } from "./picture";
import { isSound } from "./sound";
import { read, write, type State } from "./state";
import { theme } from "./theme";
import { same, type AttentionMap, type Item, type Place, type Scene } from "./types";

const scene = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as Scene;
const main = document.querySelector("main") as HTMLElement;
const framed = location.protocol === "about:"; // in a notebook there is no address to share
let state: State = read(location.hash);
let figures: Figure[] = [];
let box: Live | null = null;
let editor: HTMLElement | null = null;
let unfolded = false; // the options, on a narrow page
const asked = new WeakMap<Item, service.Question>();

if (framed) main.classList.add("framed");
const head = make("header", main);
if (scene.title && !(framed && scene.items.length === 1)) make("h1", head, { text: scene.title, dir: "auto" });
const tools = make("div", head, { class: "tools" });
const narrow = matchMedia("(max-width: 40rem)");
const above = scene.live ? fold(main, "Ask something else", true) : main;
if (scene.live) above.classList.add("asking");
const asking = make("div", above);
const body = make("div", main, { class: "body" });
help(make("footer", main));

const item = (): Item | undefined => scene.items[Math.min(state.item, scene.items.length - 1)];

function other(): Item | undefined {
  return state.with === null || state.with === state.item ? undefined : scene.items[state.with];
}

// As it was asked for, that a change of the text is all that changes.
function how(now: Item): Pick<service.Question, "beam" | "layers" | "features"> {
  const { beam = null, layers = null, features = null } = asked.get(now) ?? {};
  return { beam, layers, features };
}

// A picture or a recording is too long for an address: then the link opens the run alone.
const short = (inputs: string[]): string[] => (inputs.some((one) => isPicture(one) || isSound(one)) ? [] : inputs);

function remember(): void {
  const now = item();
  // A live page starts empty: its link says what to ask again, not which of its answers to show.
  const kept: State = !scene.live || !now
    ? state
    : { ...state, ...how(now), item: 0, with: null, run: scene.runs[now.run]?.name ?? "", ask: short(now.inputs), drop_tokens: now.drop_tokens };
  try {
    const hash = write(kept);
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  } catch {
    // a frame without rights may not change its address
  }
}

function pin(place: Place | null): void {
  const again = same(place, state.pin) && place?.other === state.pin?.other;
  state = { ...state, pin: again || !place ? null : { side: place.side, index: place.index } };
  for (const one of figures) one.pin(state.pin);
  tidy();
  remember();
}

const doing: Doing = {
  point: (place) => figures.forEach((one) => one.point(place)),
  pin,
  keep(change) {
    state = { ...state, ...change };
    remember();
  },
  change(change) {
    state = { ...state, ...change };
    remember();
    draw();
  },
};

function draw(): void {
  const focused = document.activeElement?.getAttribute("data-key");
  for (const one of figures) one.stop();
  body.replaceChildren();
  figures = [];
  const now = item();
  if (!now) {
    if (!scene.live) make("p", body, { class: "note", text: "There is nothing to show." });
    return;
  }
  state.item = scene.items.indexOf(now);
  above.classList.toggle("answered", scene.live !== null);
  if (!narrow.matches) items(body, scene, state, doing);
  if (!now.maps.length) {
    const box = make("figure", body);
    if (now.suggestions) {
      inbox(box, now, 0, () => undefined);
      return;
    }
    answer(box, now, scene.runs[now.run]);
    make("p", box, { class: "note", text: "This model has no attention over its input, so there are no weights to show." });
    if (narrow.matches) items(body, scene, state, doing);
    return;
  }
  const second = other();
  const pair = second?.maps.length ? [now, second] : [now];
  if (unread(pair)) return;
  const bar = make("div", body, { class: "controls" });
  const grid = make("div", body, { class: pair.length > 1 ? "pair" : "" });
  // Side by side they have one scale, or colours could not be compared.
  const ends = pair.map((one) => one.maps[Math.min(state.map, one.maps.length - 1)].top);
  const drawn: State = pair.length > 1 ? { ...state, end: Math.max(...ends) } : state;
  const choices = (parent: Element, seen: Seen): void => {
    const here = narrow.matches ? make("div", parent, { class: "controls" }) : bar;
    views(here, seen, doing);
    if (!narrow.matches) return options(here, now, state, seen, doing);
    const folded = fold(here, "Options", unfolded, (open) => (unfolded = open));
    items(folded, scene, state, doing);
    options(folded, now, state, seen, doing);
  };
  figures = pair.map((one, i) => figure(grid, scene, one, drawn, doing, i ? undefined : choices));
  const [mine, theirs] = figures;
  if (!bar.children.length) bar.remove();
  editor = scene.live ? make("div", body, { class: "editor" }) : null;
  if (second && theirs) compare(body, now, second, [mine.map, theirs.map], state.panel, state, grid.clientWidth);
  const name = `look-${state.item + 1}`;
  saving(body, {
    PNG: () => download(asPng(captioned(mine, now, state)), `${name}.png`),
    SVG: () => download(asSvg(captioned(mine, now, state)), `${name}.svg`),
    JSON: () => download(asJson(now, scene.runs[now.run]), `${name}.json`),
    CSV: () => download(asCsv(mine.shown), `${name}.csv`),
  });
  for (const one of figures) one.pin(state.pin);
  tidy();
  if (focused) body.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

// Whether heads must be read from what is packed first; then they are, and all is drawn again.
function unread(items: Item[]): boolean {
  const wanted = items.map((one) => one.maps[Math.min(state.map, one.maps.length - 1)]);
  const panel = (map: AttentionMap): number => Math.min(state.panel, map.heads.length - 1);
  const missing = wanted.filter((map) => !ready(map, panel(map)) || (map.grid && !pictures(map)));
  if (!missing.length) return false;
  const note = make("p", body, { class: "note", role: "status", text: "Reading the weights …" });
  Promise.all(missing.flatMap((map) => [unpack(map, panel(map)), readPictures(map)])).then(draw, () => {
    note.textContent = "The weights in this file cannot be read: it is damaged, or this browser is too old to unpack them.";
  });
  return true;
}

// What can be done with the pinned word, where a service answers.
function tidy(): void {
  const now = item();
  if (!editor || !now || !figures[0]) return;
  const column = state.pin?.side === "columns" ? state.pin.index : null;
  edit(editor, now, figures[0].map, column, {
    again(inputs, drop_tokens, left) {
      const question = { inputs, drop_tokens, ...how(now), trace: scene.runs[now.run]?.searches ?? false };
      void box?.ask(now.run, question).then((found) => found && add({ ...found, left }, question, scene.items.indexOf(now)));
    },
  });
}

function add(found: Item, question: service.Question, before: number | null): void {
  asked.set(found, question);
  scene.items.push(found);
  box?.fill(found.run, found);
  const sameRun = before !== null && scene.items[before].run === found.run;
  const kept = sameRun ? { map: state.map, panel: state.panel } : { map: 0, panel: 0 };
  // The one before stands first, so that what changed reads from left to right.
  if (before === null) doing.change({ ...kept, item: scene.items.length - 1, with: null, pin: null, step: 0 });
  else doing.change({ ...kept, item: before, with: scene.items.length - 1, pin: null, step: 0 });
  if (!narrow.matches || before !== null) return;
  (above as HTMLDetailsElement).open = false; // the answer comes first
  body.querySelector<HTMLElement>(".answer")?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function link(): void {
  const share = button(tools, "Copy link", () => {
    const done = (): void => {
      share.textContent = "Copied";
      window.setTimeout(() => (share.textContent = "Copy link"), 1500);
    };
    const byHand = (): void => {
      const field = make("input", tools, { type: "text", readonly: true, value: location.href, "aria-label": "link to this view" });
      field.select();
      share.hidden = true;
    };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(done, byHand);
    else byHand();
  }, { title: "a link that opens this view" });
}

async function start(base: string): Promise<void> {
  if (!scene.runs.length) {
    try {
      scene.runs = await service.runs(base);
    } catch (error) {
      const known = error instanceof service.Trouble;
      make("p", asking, { class: "trouble", role: "alert", text: known ? error.message : "The runs could not be read." });
      if (known && error.wantsToken) {
        wanted(asking, () => {
          asking.replaceChildren();
          void start(base);
        });
      }
    }
  }
  if (!scene.runs.length) return;
  box = live(asking, scene, base, (found, question) => add(found, question, null));
  const run = scene.runs.findIndex((one) => one.name === state.run);
  if (run < 0 || state.ask.length !== scene.runs[run].roles.length) return;
  const shared = state;
  const { beam, layers, features } = state;
  const question = { inputs: state.ask, beam, drop_tokens: state.drop_tokens, trace: scene.runs[run].searches, layers, features };
  const found = await box.ask(run, question);
  if (!found) return;
  add(found, question, null);
  const { view, map, panel, pin, step } = shared;
  doing.change({ view, map, panel, pin, step });
}

if (!framed) link();
theme(tools, draw);
keys((key) => {
  if (figures[0]?.key(key)) return true;
  const now = item();
  if (!now || !figures[0]) return false;
  const can = offers(figures[0].map, now, scene.runs[now.run]);
  const fresh = { map: 0, panel: 0, pin: null, step: 0 };
  if (/^[1-9]$/.test(key) && can[Number(key) - 1]) doing.change({ view: can[Number(key) - 1] });
  else if (key === "[" && state.item > 0) doing.change({ ...fresh, item: state.item - 1 });
  else if (key === "]" && state.item < scene.items.length - 1) doing.change({ ...fresh, item: state.item + 1 });
  else if (key === "Escape") pin(null);
  else if (key === "h") doing.change({ hide: !state.hide });
  else if (key === "r") doing.change({ scale: state.scale === "row" ? "all" : "row" });
  else if (key === "d") document.querySelector<HTMLElement>(".theme")?.click();
  else return false;
  return true;
});
window.addEventListener("hashchange", () => {
  state = read(location.hash);
  draw();
});
let wide = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === wide) return; // a phone's address bar changes only the height
  wide = window.innerWidth;
  if (scene.live && !narrow.matches) (above as HTMLDetailsElement).open = true; // its summary is not shown there
  window.requestAnimationFrame(draw);
});
draw();
if (scene.live) void start(scene.live.base);

// What a scene holds; src/regard/look/scene.py makes it.

export type Direction = "ltr" | "rtl";
export type Side = "rows" | "columns";

export interface Token {
  text: string; // as people may see it
  raw?: string; // as it is, where that differs
  letter: boolean;
  space: boolean;
  out: boolean; // not chosen by a hard attention
  special: boolean;
  start: number;
  end: number;
}

export interface Gaze {
  title: string;
  rows: Token[];
  columns: Token[];
  directions: { rows: Direction; columns: Direction };
  names: string[];
  heads: number[][];
  top: number;
  links: [number, number][];
  breaks: number[];
  kind: "heads" | "features" | "rows" | "layers";
  features: boolean;
}

export interface Hypothesis {
  tokens: string[];
  log_prob: number | null; // the sum over its tokens so far
  parent: number;
  ended: boolean;
}

// How probable an answer is: the sum over its tokens, and their mean. Only of the sum is the exponent a probability.
export interface Probable {
  log_prob: number | null;
  log_prob_per_token: number | null; // null where the answer is no sequence
}

export interface Other extends Probable {
  text: string;
}

export interface Item extends Probable {
  run: number;
  inputs: string[];
  answer: string;
  others: Other[];
  without: number[][];
  steps: Hypothesis[][] | null;
  gazes: Gaze[];
  left?: string[]; // live: the tokens that were left out, as they are shown
}

export interface Badge {
  verdict: string;
  level?: string;
  [figure: string]: unknown;
}

export interface Run {
  name: string;
  task: string;
  roles: string[];
  searches: boolean;
  layers?: number; // to choose from
  features?: boolean; // whether single ones can be shown
  badge: Badge | null;
}

export interface Scene {
  version: number;
  title: string;
  live: { base: string } | null;
  runs: Run[];
  items: Item[];
}

// A word that is pointed at or pinned, by its place in the gaze.
export interface Place {
  side: Side;
  index: number;
  other?: number; // on the other side, where a single cell is pointed at
}

export const same = (a: Place | null, b: Place | null): boolean => a?.side === b?.side && a?.index === b?.index;

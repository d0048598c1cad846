// What a scene holds; src/regard/look/scene.py makes it.

export type Direction = "ltr" | "rtl";
export type Side = "rows" | "columns";

// What a weight refers to: characters of a text, unless it has another kind.
export interface Region {
  kind?: "box" | "interval" | "item" | "entry";
  text: string; // as people may see it
  raw?: string; // as it is, where that differs
  letter: boolean;
  space: boolean;
  out: boolean; // not selected by a hard attention
  special: boolean;
  start?: number; // of a token: characters of its text; of an interval: seconds
  end?: number;
  left?: number; // of a box: fractions of the picture's width and height
  top?: number;
  right?: number;
  bottom?: number;
}

// All layers and heads of a model: what heads attend to, and a small picture of each.
export interface Grid {
  layers: number[];
  heads: number;
  first: number; // the panel of the first layer's first head: those before it are of all heads together
  small: string; // packed
  side: [number, number]; // rows and columns of a small picture
  bytes: number;
  weights: number; // how many
  searches: { name: string; scores: number[] }[];
}

export interface AttentionMap {
  title: string;
  rows: Region[];
  columns: Region[];
  directions: { rows: Direction; columns: Direction };
  names: string[];
  heads: ArrayLike<number>[]; // of packed ones those that were read, the others empty
  packed?: string[];
  grid?: Grid;
  top: number; // where colours end: the largest weight, but not below twice an even share
  axes: [string, string]; // what rows and columns are; "" where nobody said
  links: [number, number][];
  breaks: number[];
  panels: "heads" | "features" | "rows" | "layers";
  source: string; // the picture that boxes are in, or the recording that intervals are of, as a data URL
  spectrogram?: string; // of a recording, as a picture
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
  span?: [number, number];
}

export interface Item extends Probable {
  run: number;
  inputs: string[];
  answer: string;
  span?: [number, number]; // characters of the first input that the answer is
  others: Other[];
  drop_tokens: number[][];
  steps: Hypothesis[][] | null;
  maps: AttentionMap[];
  suggestions?: { text: string; intent: string; probability: number }[]; // replies that are suggested, each with a map
  silent?: string; // why none is
  left?: string[]; // live: the tokens that were left out, as they are shown
}

export interface Badge {
  verdict: string;
  level?: string;
  [figure: string]: unknown;
}

export interface Role {
  name: string;
  kind: "text" | "image" | "audio" | "items" | "record";
}

export interface About {
  data: string;
  examples: number;
  inputs: string[][]; // to try
}

export interface Run {
  name: string;
  task: string;
  does?: string; // in a sentence
  about?: About | null; // what training kept
  roles: Role[];
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

// A word that is pointed at or pinned, by its place in the map.
export interface Place {
  side: Side;
  index: number;
  other?: number; // on the other side, where a single cell is pointed at
  panel?: number | undefined; // in which head, where several are seen at once
}

export const same = (a: Place | null, b: Place | null): boolean => a?.side === b?.side && a?.index === b?.index;

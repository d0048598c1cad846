// Asking the service that gave the page. Whatever goes wrong comes back as one friendly line.

import type { Item, Run } from "./types";
import { visible } from "./visible";

const store = "regard token";

export class Trouble extends Error {
  constructor(message: string, readonly wantsToken = false) {
    super(message);
  }
}

export interface Question {
  inputs: string[];
  beam: number | null;
  drop_tokens: number[][];
  trace: boolean;
  layers: string | null;
  features: number | null;
}

export function token(): string {
  try {
    return sessionStorage.getItem(store) ?? "";
  } catch {
    return "";
  }
}

export function keepToken(value: string): void {
  try {
    sessionStorage.setItem(store, value);
  } catch {
    // then it is asked for again
  }
}

async function call(address: string, body: object | null): Promise<unknown> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  if (token()) headers["Authorization"] = `Bearer ${token()}`;
  let response: Response;
  try {
    response = await fetch(address, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  } catch {
    throw new Trouble("The service cannot be reached.");
  }
  if (!response.ok) throw await trouble(response);
  try {
    return await response.json();
  } catch {
    throw new Trouble("The service answered with something that is not JSON.");
  }
}

async function trouble(response: Response): Promise<Trouble> {
  const reason = await detail(response);
  const wait = response.headers.get("Retry-After");
  switch (response.status) {
    case 401:
      return new Trouble("This service needs a token.", true);
    case 403:
      return new Trouble("The service does not answer this page." + reason);
    case 413:
      return new Trouble("That is more than this service takes." + reason);
    case 422:
      return new Trouble("The service cannot answer that." + reason);
    case 429:
      return new Trouble(`Too many questions at once; try again in ${wait && /^\d+$/.test(wait) ? `${wait} seconds` : "a moment"}.`);
    case 503:
      return new Trouble("The service is busy; try again in a moment.");
    default:
      return new Trouble(`The service answered with an error (${response.status}).` + reason);
  }
}

// What the service says of it, where that is a line of text.
async function detail(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as Record<string, unknown>;
    const said = body["detail"] ?? body["error"] ?? body["message"];
    return typeof said === "string" && said ? ` ${visible(said, 200)}` : "";
  } catch {
    return "";
  }
}

export async function runs(base: string): Promise<Run[]> {
  const body = (await call(`${base}/runs`, null)) as { runs?: Run[] };
  return body.runs ?? [];
}

export async function predict(base: string, run: string, question: Question): Promise<Item> {
  const drop_tokens = question.drop_tokens.some((places) => places.length) ? [question.drop_tokens] : null;
  const body = (await call(`${base}/runs/${encodeURIComponent(run)}/predict`, {
    inputs: [question.inputs], look: true, trace: question.trace, beam: question.beam, drop_tokens,
    layers: question.layers, features: question.features,
  })) as { items?: Item[] };
  const item = body.items?.[0];
  if (!item) throw new Trouble("The service gave no answer.");
  return item;
}

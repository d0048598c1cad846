// Live only: a form with one field per input, and the run that answers.

import { keepToken, predict, Trouble, type Question } from "./ask";
import { fold } from "./controls";
import { button, choice, make } from "./dom";
import { field, type Field } from "./inputs";
import { isPicture } from "./picture";
import { isSound } from "./sound";
import type { Item, Run, Scene } from "./types";
import { visible } from "./visible";

export interface Live {
  ask(run: number, question: Question): Promise<Item | null>;
  fill(run: number, item: Item): void;
}

// A field for the token that a service wants; it is kept until the tab is closed.
export function wanted(parent: Element, act: () => void): HTMLElement {
  const box = make("div", parent, { class: "secret" });
  const label = make("label", box, { text: "Token " });
  const key = make("input", label, { type: "password", autocomplete: "off" });
  const use = (): void => {
    keepToken(key.value);
    key.value = "";
    act();
  };
  key.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // a form around it would be sent without the token
    use();
  });
  button(box, "Use", use);
  return box;
}

// What the model does, and what it was trained on.
function greet(parent: Element, run: Run): void {
  parent.replaceChildren();
  make("h2", parent, { text: run.name, dir: "auto" });
  const { data, examples } = run.about ?? { data: "", examples: 0 };
  const source = data.startsWith("builtin:") ? `${data.slice(8)} (built in)` : data;
  const trained = data ? `Trained on ${source}, ${examples.toLocaleString("en")} example${examples === 1 ? "" : "s"}.` : "";
  make("p", parent, { text: [run.does ?? "", trained].filter(Boolean).join(" ") });
}

export function live(parent: Element, scene: Scene, base: string, answered: (item: Item, question: Question) => void): Live {
  const form = make("form", parent, { class: "ask", "aria-label": "ask a model" });
  const greeting = make("div", form, { class: "greeting" });
  const head = make("div", form, { class: "ask-head" });
  const fields = make("div", form, { class: "fields" });
  const foot = make("div", form, { class: "ask-foot" });
  const tries = make("div", form, { class: "tries", role: "group", "aria-label": "examples" });
  const trouble = make("p", form, { class: "trouble", role: "alert" });
  const secret = wanted(form, () => {
    secret.hidden = true;
    form.requestSubmit();
  });
  secret.hidden = true;

  let run = 0;
  let inputs: Field[] = [];
  const options = scene.runs.map((one, i) => ({ text: `${one.name} (${one.task})`, value: String(i) }));
  const select = choice(head, "Run", options, "0", (value) => setRun(Number(value)));
  const ways = fold(head, "Options", !matchMedia("(max-width: 40rem)").matches);
  const row = make("div", ways, { class: "options" });
  const width = make("label", row, { class: "choice", text: "Beam " });
  const beam = make("input", width, { type: "number", min: 1, max: 64, placeholder: "as trained", "aria-label": "beam width" });
  const layers = choice(row, "Layers", [], "", () => undefined);
  const few = make("label", row, { class: "choice", text: "Features " });
  const features = make("input", few, { type: "number", min: 1, max: 32, placeholder: "mean", "aria-label": "how many single features" });
  const go = make("button", foot, { type: "submit", class: "go", text: "Look" });
  make("span", foot, { class: "note keyboard", text: "or Ctrl+Enter" });

  function setRun(to: number): void {
    run = Math.min(Math.max(0, to), scene.runs.length - 1);
    select.value = String(run);
    const one: Run | undefined = scene.runs[run];
    width.hidden = !one?.searches;
    few.hidden = !one?.features;
    const numbers = Array.from({ length: one?.layers ?? 0 }, (_, i) => String(i + 1));
    (layers.parentElement as HTMLElement).hidden = numbers.length < 2;
    const kept = layers.value;
    layers.replaceChildren();
    make("option", layers, { text: "as trained", value: "" });
    for (const text of [...numbers, "mean", "all"]) make("option", layers, { text, value: text });
    layers.value = numbers.length < 2 || (Number(kept) || 0) > numbers.length ? "" : kept;
    (select.parentElement as HTMLElement).hidden = scene.runs.length < 2;
    ways.hidden = !one?.searches && !one?.features && numbers.length < 2;
    if (one) greet(greeting, one);
    offer(one);
    const before = inputs.map((one) => one.read());
    fields.replaceChildren();
    inputs = (one?.roles ?? []).map((role) => field(fields, role, () => form.requestSubmit(), (text) => (trouble.textContent = text)));
    put(before);
  }

  // Inputs to try, from the data of the run.
  function offer(one: Run | undefined): void {
    tries.replaceChildren();
    const inputs = one?.about?.inputs ?? [];
    tries.hidden = !inputs.length;
    make("span", tries, { class: "note", text: "Try" });
    inputs.forEach((values, number) => {
      const whole = values.map((value) => (isPicture(value) ? "picture" : isSound(value) ? "recording" : visible(value))).join("  |  ");
      const made = button(tries, "", () => {
        put(values);
        form.requestSubmit();
      }, { class: "try", title: whole, "aria-label": `Try example ${number + 1}: ${whole}` });
      for (const value of values) {
        if (isPicture(value)) make("img", made, { class: "thumb", src: value, alt: "" });
        else make("span", made, { text: isSound(value) ? `recording ${number + 1}` : visible(value, 120), dir: "auto" });
      }
    });
  }

  // A picture or a recording does not stand in a field for text when another run is chosen.
  const put = (values: string[]): void =>
    inputs.forEach((one, i) => {
      const [value, kind] = [values[i] ?? "", scene.runs[run].roles[i].kind];
      one.fill((isPicture(value) && kind !== "image") || (isSound(value) && kind !== "audio") ? "" : value);
    });

  const whole = (field: HTMLInputElement): number | null => (Number(field.value) >= 1 ? Math.floor(Number(field.value)) : null);

  async function ask(number: number, question: Question): Promise<Item | null> {
    trouble.textContent = "";
    go.disabled = true;
    form.setAttribute("aria-busy", "true");
    try {
      const item = await predict(base, scene.runs[number].name, question);
      item.run = number;
      return item;
    } catch (error) {
      const known = error instanceof Trouble;
      trouble.textContent = known ? error.message : "The answer could not be read.";
      if (known && error.wantsToken) secret.hidden = false;
      return null;
    } finally {
      go.disabled = false;
      form.removeAttribute("aria-busy");
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const empty = inputs.find((one) => !one.read().trim());
    if (empty) {
      trouble.textContent = empty.missing;
      return;
    }
    const { searches, features: single } = scene.runs[run];
    const question: Question = {
      inputs: inputs.map((one) => one.read()), drop_tokens: [], trace: searches, beam: searches ? whole(beam) : null,
      layers: layers.value || null, features: single ? whole(features) : null,
    };
    void ask(run, question).then((item) => item && answered(item, question));
  });
  setRun(0);

  return {
    ask,
    fill(number, item) {
      setRun(number);
      put(item.inputs);
    },
  };
}

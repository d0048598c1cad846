// Live only: a box to type in, one field an input, and the run that answers.

import { keepToken, predict, Trouble, type Question } from "./ask";
import { button, choice, make } from "./dom";
import type { Item, Run, Scene } from "./types";

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

export function live(parent: Element, scene: Scene, base: string, answered: (item: Item, question: Question) => void): Live {
  const form = make("form", parent, { class: "ask", "aria-label": "ask a model" });
  const head = make("div", form, { class: "ask-head" });
  const fields = make("div", form, { class: "fields" });
  const foot = make("div", form, { class: "ask-foot" });
  const trouble = make("p", form, { class: "trouble", role: "alert" });
  const secret = wanted(form, () => {
    secret.hidden = true;
    form.requestSubmit();
  });
  secret.hidden = true;

  let run = 0;
  let texts: HTMLTextAreaElement[] = [];
  const options = scene.runs.map((one, i) => ({ text: `${one.name} (${one.task})`, value: String(i) }));
  const select = choice(head, "Run", options, "0", (value) => setRun(Number(value)));
  const width = make("label", head, { class: "choice", text: "Beam " });
  const beam = make("input", width, { type: "number", min: 1, max: 64, placeholder: "as trained", "aria-label": "beam width" });
  const layers = choice(head, "Layers", [], "", () => undefined);
  const few = make("label", head, { class: "choice", text: "Features " });
  const features = make("input", few, { type: "number", min: 1, max: 32, placeholder: "mean", "aria-label": "how many single features" });
  const go = make("button", foot, { type: "submit", class: "go", text: "Look" });
  make("span", foot, { class: "note", text: "Ctrl+Enter" });

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
    const before = texts.map((text) => text.value);
    fields.replaceChildren();
    texts = (one?.roles ?? []).map((role, i) => {
      const label = make("label", fields, { text: role });
      const text = make("textarea", label, { rows: 2, dir: "auto", spellcheck: "false" });
      text.value = before[i] ?? "";
      text.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      });
      return text;
    });
  }

  const whole = (field: HTMLInputElement): number | null => (Number(field.value) >= 1 ? Math.floor(Number(field.value)) : null);

  async function ask(number: number, question: Question): Promise<Item | null> {
    trouble.textContent = "";
    go.disabled = true;
    form.setAttribute("aria-busy", "true");
    try {
      const item = await predict(base, scene.runs[number].name, question);
      item.run = number;
      if (!item.gazes.length) trouble.textContent = "It answered, but this model does not look at its input.";
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
    const inputs = texts.map((text) => text.value);
    if (inputs.some((text) => !text.trim())) {
      trouble.textContent = "Write something first.";
      return;
    }
    const { searches, features: single } = scene.runs[run];
    const question: Question = {
      inputs, without: [], trace: searches, beam: searches ? whole(beam) : null,
      layers: layers.value || null, features: single ? whole(features) : null,
    };
    void ask(run, question).then((item) => item && answered(item, question));
  });
  setRun(0);

  return {
    ask,
    fill(number, item) {
      setRun(number);
      texts.forEach((text, i) => (text.value = item.inputs[i] ?? ""));
    },
  };
}

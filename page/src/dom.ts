// Elements are made here only. Text goes in through textContent, so it cannot become markup.

type Options = Record<string, string | number | boolean | undefined>;

export function make<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  parent: Element | null,
  options: Options = {},
): HTMLElementTagNameMap[T] {
  const element = document.createElement(tag);
  set(element, options);
  parent?.append(element);
  return element;
}

export function set(element: Element, options: Options): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === false) continue;
    if (name === "text") element.textContent = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function button(parent: Element, text: string, act: () => void, options: Options = {}): HTMLButtonElement {
  const made = make("button", parent, { type: "button", text, ...options });
  made.addEventListener("click", act);
  return made;
}

export function choice(
  parent: Element,
  name: string,
  options: { text: string; value: string }[],
  value: string,
  act: (value: string) => void,
): HTMLSelectElement {
  const label = make("label", parent, { class: "choice" });
  make("span", label, { text: name });
  const select = make("select", label);
  for (const one of options) make("option", select, { text: one.text, value: one.value });
  select.value = value;
  select.addEventListener("change", () => act(select.value));
  return select;
}

export function tick(parent: Element, name: string, on: boolean, act: (on: boolean) => void): HTMLInputElement {
  const label = make("label", parent, { class: "tick" });
  const box = make("input", label, { type: "checkbox" });
  box.checked = on;
  make("span", label, { text: name });
  box.addEventListener("change", () => act(box.checked));
  return box;
}

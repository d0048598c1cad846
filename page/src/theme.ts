// Dark or light: as the system has it, until one is chosen.

import { button } from "./dom";

const name = "regard theme";
const system = matchMedia("(prefers-color-scheme: dark)");

// A page in a frame without rights has no storage.
function kept(): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

function keep(value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // it holds for as long as the page is open
  }
}

const isDark = (): boolean => (document.documentElement.dataset["theme"] || (system.matches ? "dark" : "light")) === "dark";

export function theme(parent: Element, again: () => void): void {
  const before = kept();
  if (before === "dark" || before === "light") document.documentElement.dataset["theme"] = before;
  const made = button(parent, "", () => {
    const now = isDark() ? "light" : "dark";
    document.documentElement.dataset["theme"] = now;
    keep(now);
    label();
    again();
  }, { class: "theme" });
  const label = (): void => {
    made.textContent = isDark() ? "☀" : "☾";
    made.setAttribute("aria-label", isDark() ? "light colours" : "dark colours");
    made.title = isDark() ? "light colours" : "dark colours";
  };
  label();
  system.addEventListener("change", () => {
    label();
    again();
  });
}

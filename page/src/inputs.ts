// One input of a run as a field to fill in, by its kind: text, a picture, a list of ids.

import { make } from "./dom";
import { isPicture } from "./picture";
import type { Role } from "./types";

export const most = 5_000_000; // bytes of a picture
const kinds = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];

export interface Field {
  read(): string;
  fill(value: string): void;
  missing: string; // what to say where nothing is filled in
}

export function field(parent: Element, role: Role, send: () => void, tell: (trouble: string) => void): Field {
  const label = make("label", parent);
  make("span", label, { class: "name", text: role.name });
  if (role.kind === "image") return image(label, tell);
  const items = role.kind === "items";
  const text = items
    ? make("input", label, { type: "text", placeholder: "ids separated by spaces", spellcheck: "false", autocomplete: "off" })
    : make("textarea", label, { rows: 2, dir: "auto", spellcheck: "false" });
  text.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey } = event as KeyboardEvent;
    if (!items && key === "Enter" && (ctrlKey || metaKey)) send(); // a line is sent by Enter alone, as in every form
  });
  return { read: () => text.value, fill: (value) => (text.value = value), missing: "Write something first." };
}

// A file that is chosen or dropped, read here and sent with the question.
function image(label: HTMLElement, tell: (trouble: string) => void): Field {
  label.classList.add("drop");
  const preview = make("img", label, { class: "preview", alt: "" });
  const file = make("input", label, { type: "file", accept: kinds.join() });
  make("span", label, { class: "note", text: "Choose a picture, or drop one here (up to 5 MB)." });
  let url = "";

  const fill = (value: string): void => {
    url = isPicture(value) ? value : "";
    preview.hidden = !url;
    if (url) preview.src = url;
    else preview.removeAttribute("src");
  };

  function take(one: File | undefined): void {
    if (!one) return;
    tell("");
    if (!kinds.includes(one.type)) return tell("Please choose a picture: PNG, JPEG, GIF, WebP or BMP.");
    if (one.size > most) return tell("This picture is larger than 5 MB. Please choose a smaller one.");
    const reader = new FileReader();
    reader.addEventListener("load", () => fill(String(reader.result)));
    reader.addEventListener("error", () => tell("This file cannot be read."));
    reader.readAsDataURL(one);
  }

  file.addEventListener("change", () => take(file.files?.[0]));
  label.addEventListener("dragover", (event) => {
    event.preventDefault();
    label.classList.add("over");
  });
  label.addEventListener("dragleave", () => label.classList.remove("over"));
  label.addEventListener("drop", (event) => {
    event.preventDefault();
    label.classList.remove("over");
    take(event.dataTransfer?.files[0]);
  });
  fill("");
  return { read: () => url, fill, missing: "Choose a picture first." };
}

// One input of a run as a field to fill in, by its kind: text, a picture, a recording, a list of ids.

import { make } from "./dom";
import { isPicture } from "./picture";
import { isSound } from "./sound";
import type { Role } from "./types";

export const most = 5_000_000; // bytes of a picture

interface Upload {
  noun: string;
  kinds: string[];
  named: string;
  most: number; // bytes
  is(value: string): boolean;
}

const pictures: Upload = {
  noun: "picture", kinds: ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"], named: "PNG, JPEG, GIF, WebP or BMP", most, is: isPicture,
};
const recordings: Upload = {
  noun: "recording", kinds: ["audio/wav", "audio/x-wav", "audio/wave", "audio/flac", "audio/ogg"], named: "WAV, FLAC or OGG", most: 10_000_000, is: isSound,
};

export interface Field {
  read(): string;
  fill(value: string): void;
  missing: string; // what to say where nothing is filled in
}

export function field(parent: Element, role: Role, send: () => void, tell: (trouble: string) => void): Field {
  const label = make("label", parent);
  make("span", label, { class: "name", text: role.name });
  if (role.kind === "image") return upload(label, tell, pictures);
  if (role.kind === "audio") return upload(label, tell, recordings);
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
function upload(label: HTMLElement, tell: (trouble: string) => void, { noun, kinds, named, most, is }: Upload): Field {
  label.classList.add("drop");
  const preview = noun === "picture" ? make("img", label, { class: "preview", alt: "" }) : make("audio", label, { controls: true, "aria-label": "preview" });
  const file = make("input", label, { type: "file", accept: kinds.join() });
  const room = `${most / 1_000_000} MB`;
  make("span", label, { class: "note", text: `Choose a ${noun}, or drop one here (up to ${room}).` });
  let url = "";

  const fill = (value: string): void => {
    url = is(value) ? value : "";
    preview.hidden = !url;
    if (url) preview.src = url;
    else preview.removeAttribute("src");
  };

  function take(one: File | undefined): void {
    if (!one) return;
    tell("");
    if (!kinds.includes(one.type)) return tell(`Please choose a ${noun}: ${named}.`);
    if (one.size > most) return tell(`This ${noun} is larger than ${room}. Please choose a ${noun === "picture" ? "smaller" : "shorter"} one.`);
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
  return { read: () => url, fill, missing: `Choose a ${noun} first.` };
}

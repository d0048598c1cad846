// Suggested replies as in an inbox: the message, a button for each reply, and the chosen one to edit before it is sent.
// Nothing is sent from here: "Copy" hands the text over. The weights below are those of the chosen reply.

import { button, make } from "./dom";
import type { Item } from "./types";
import { percent, visible } from "./visible";

export function inbox(parent: Element, item: Item, chosen: number, choose: (map: number) => void): void {
  const box = make("div", parent, { class: "answer inbox", tabindex: -1 });
  const mail = make("div", box, { class: "mail", dir: "auto" });
  for (const line of (item.inputs[0] ?? "").split("\n")) make("div", mail, { text: visible(line, 2000) || "\u00a0" });
  if (item.silent) {
    make("p", box, { class: "note", role: "status", text: `No suggestion: ${visible(item.silent, 200)}.` });
    return;
  }
  const replies = item.suggestions ?? [];
  const row = make("div", box, { class: "suggestions", role: "group", "aria-label": "suggested replies" });
  const here = replies[Math.min(chosen, replies.length - 1)];
  const draft = make("textarea", null, { rows: 2, dir: "auto", "aria-label": "your reply", "data-key": "draft" });
  draft.value = here?.text ?? "";
  replies.forEach((one, index) => {
    button(row, visible(one.text, 120), () => choose(index), {
      "aria-pressed": String(one === here), "data-key": `suggestion ${index}`, title: `${visible(one.intent, 60)}, ${percent(one.probability)}`,
    });
  });
  if (here) make("p", box, { class: "note", text: `${visible(here.intent, 60)}, ${percent(here.probability)} of all replies that may be suggested` });
  box.append(draft);
  const foot = make("div", box, { class: "draft-foot" });
  const copy = button(foot, "Copy reply", () => {
    const done = (): void => {
      copy.textContent = "Copied";
      window.setTimeout(() => (copy.textContent = "Copy reply"), 1500);
    };
    draft.select();
    if (navigator.clipboard) navigator.clipboard.writeText(draft.value).then(done, () => undefined);
  });
  make("span", foot, { class: "note", text: "Edit it before you send it. Below: where the model looked for this reply." });
}

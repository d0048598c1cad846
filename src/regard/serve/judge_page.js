"use strict";
// One line at a time: its source, the outputs in a drawn order, three questions about each. Marks are sent one after the
// other, in the order they were given, and again until the server has them. Texts only ever go through textContent.

const byId = (id) => document.getElementById(id);
const scales = {
  adequacy: { name: "Adequacy", words: ["none", "little", "much", "most", "all"] },
  fluency: { name: "Fluency", words: ["in\u00adcom\u00adpre\u00adhen\u00adsi\u00adble", "disfluent", "non-native", "good", "flawless"] },
  place: { name: "Place", words: ["best", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th"] },
};

let sheet = null; // name, judge, lines
let done = new Set();
let shown = null; // the line on the page, as the server gave it
let warned = false; // that marks are missing on it
let asked = 0; // of several lines asked for at once only the last is shown
const waiting = []; // marks the server does not have yet
let sending = false;

function make(tag, parent, options = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  parent.append(element);
  return element;
}

function say(text, bad = false) {
  byId("status").textContent = text;
  byId("status").className = bad ? "bad" : "";
}

async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw Object.assign(new Error("the server does not answer; is it still running in the terminal?"), { again: true });
  }
  const data = await answer.json().catch(() => ({}));
  if (answer.ok) return data;
  const why = typeof data.detail === "string" ? data.detail : `answer ${answer.status}`;
  throw Object.assign(new Error(why), { again: answer.status >= 500 });
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

async function send(mark) {
  waiting.push(mark);
  if (sending) return;
  sending = true;
  while (waiting.length) {
    const { line, ...body } = waiting[0];
    try {
      const answer = await ask(`/api/lines/${line}`, body);
      waiting.shift();
      if (answer.done) done.add(line);
      say(waiting.length ? "" : "Kept.");
      progress();
    } catch (error) {
      say(`Not kept${error.again ? " yet" : ""}: ${error.message}`, true);
      if (error.again) await pause(2);
      else waiting.length = 0; // what was refused once will be again
    }
  }
  sending = false;
}

function progress() {
  const left = sheet.lines.length - done.size;
  byId("left").textContent = `${done.size} of ${sheet.lines.length} done, ${left} left`;
  byId("progress").max = sheet.lines.length;
  byId("progress").value = done.size;
  byId("open").disabled = !left;
}

function text(parent, value) {
  const empty = !value.trim();
  make("p", parent, { class: empty ? "text empty" : "text", dir: "auto", lang: empty ? "en" : "", text: empty ? "(nothing)" : value });
}

function question(parent, output, index, kind, count) {
  const letter = String.fromCharCode(65 + index);
  const { name, words } = scales[kind];
  const group = make("fieldset", parent, { "data-kind": kind });
  const legend = make("legend", group);
  make("span", legend, { class: "unseen", text: `Output ${letter}: ` });
  legend.append(name);
  const choices = make("div", group, { class: "choices" });
  for (let value = 1; value <= count; value++) {
    const label = make("label", choices);
    const input = make("input", label, { type: "radio", name: `${kind}-${index}`, value });
    input.checked = output.marks[kind] === value;
    const box = make("span", label);
    if (kind === "place") box.textContent = words[value - 1];
    else {
      make("b", box, { text: value });
      make("small", box, { text: words[value - 1] });
    }
    input.addEventListener("change", () => {
      warned = false;
      output.marks[kind] = value;
      send({ line: shown.line, sheet: sheet.sheet, output: index, question: kind, value });
    });
  }
}

function draw() {
  const place = sheet.lines.indexOf(shown.line);
  byId("heading").textContent = `Line ${place + 1} of ${sheet.lines.length}`;
  document.title = `${place + 1} of ${sheet.lines.length}: judge`;
  const given = byId("given");
  given.replaceChildren();
  make("h2", given, { text: "Source" });
  text(given, shown.source);
  if (shown.reference !== null) {
    make("h2", given, { text: "Reference" });
    text(given, shown.reference);
  }
  const outputs = byId("outputs");
  outputs.replaceChildren();
  shown.outputs.forEach((output, index) => {
    const name = `Output ${String.fromCharCode(65 + index)}`;
    const card = make("section", outputs, { class: "output", "aria-label": name });
    make("h2", card, { text: name });
    text(card, output.text);
    const questions = make("div", card, { class: "questions" });
    question(questions, output, index, "adequacy", 5);
    question(questions, output, index, "fluency", 5);
    if (shown.outputs.length > 1) question(questions, output, index, "place", shown.outputs.length);
  });
  byId("form").hidden = false;
  byId("back").disabled = place === 0;
  progress();
  byId("heading").focus();
  scrollTo(0, 0);
}

async function go(line) {
  const turn = ++asked;
  try {
    const answer = await ask(`/api/lines/${line}`);
    if (turn !== asked) return;
    shown = answer;
    // Marks on their way are newer than what the server answered.
    for (const mark of waiting) if (mark.line === line) shown.outputs[mark.output].marks[mark.question] = mark.value;
    warned = false;
    draw();
    if (!waiting.length) say("");
    if (location.hash === "") history.replaceState(null, "", `#${line}`);
    else if (location.hash !== `#${line}`) history.pushState(null, "", `#${line}`);
  } catch (error) {
    say(`Line ${line} could not be loaded: ${error.message}`, true);
  }
}

const firstOpen = () => sheet.lines.find((line) => !done.has(line));
const groups = () => [...byId("outputs").querySelectorAll("fieldset")];
const unmarked = (group) => !group.querySelector("input:checked");

function next() {
  const missing = groups().filter(unmarked).length;
  if (missing && !warned) {
    warned = true;
    say(`${missing} ${missing === 1 ? "mark is" : "marks are"} missing here; once more to leave them open.`, true);
    return;
  }
  const line = sheet.lines[sheet.lines.indexOf(shown.line) + 1] ?? firstOpen();
  if (line !== undefined && line !== shown.line) go(line);
  else if (!missing) say("All lines are done. You can close this page, or go back and change marks.");
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  next();
});
byId("back").addEventListener("click", () => go(sheet.lines[sheet.lines.indexOf(shown.line) - 1]));
byId("open").addEventListener("click", () => firstOpen() !== undefined && go(firstOpen()));

document.querySelector("main").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !shown) return;
  if (event.repeat && /^[1-9]$|^Enter$/.test(event.key)) return event.preventDefault(); // a key held is pressed once
  if (event.key === "Enter" && event.target === byId("heading")) return next();
  if (!/^[1-9]$/.test(event.key)) return;
  const all = groups();
  const group = event.target.closest("fieldset") ?? all.find(unmarked);
  const input = group?.querySelector(`input[value="${event.key}"]`);
  if (!input) return;
  event.preventDefault();
  if (!input.checked) input.click();
  const after = all[all.indexOf(group) + 1];
  const target = after ? (after.querySelector("input:checked") ?? after.querySelector("input")) : byId("next");
  target.focus();
  (after ?? target).scrollIntoView({ block: "nearest" });
});

addEventListener("popstate", () => {
  const line = wanted();
  if (line !== undefined && line !== shown?.line) go(line);
});
addEventListener("beforeunload", (event) => {
  if (waiting.length) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && shown && !waiting.length) refresh().catch(() => {});
});

const wanted = () => sheet.lines.find((line) => `#${line}` === location.hash);

// Another tab may have gone on meanwhile: take over its marks, and leave the focus where it is.
async function refresh() {
  const about = await ask("/api/sheet");
  if (about.sheet !== sheet.sheet) return location.reload();
  const answer = await ask(`/api/lines/${shown.line}`);
  if (waiting.length || answer.line !== shown.line) return;
  sheet = about;
  done = new Set(sheet.done);
  answer.outputs.forEach((output, index) => {
    Object.assign(shown.outputs[index].marks, output.marks);
    for (const [kind, value] of Object.entries(output.marks)) {
      byId("outputs").querySelector(`input[name="${kind}-${index}"][value="${value}"]`).checked = true;
    }
  });
  progress();
}

async function begin() {
  try {
    sheet = await ask("/api/sheet");
    done = new Set(sheet.done);
    byId("judge").textContent = sheet.judge;
    await go(wanted() ?? firstOpen() ?? sheet.lines[0]);
    if (firstOpen() === undefined) say("All lines are done. You can go back and change marks.");
  } catch (error) {
    say(`The page could not be loaded: ${error.message}`, true);
    if (error.again) pause(2).then(begin);
  }
}

begin();

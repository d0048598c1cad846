"use strict";
// One figure a gaze: input words over output words, what was said of them, and the matrix below.
// The text of tokens only ever goes through textContent, so it cannot become markup.

function make(tag, parent, options = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  parent.append(element);
  return element;
}

const percent = (weight) => (weight >= 0.0995 ? Math.round(weight * 100) : +(weight * 100).toFixed(1)) + "%";
const dark = matchMedia("(prefers-color-scheme: dark)");

const kind = (token) => (token.space ? " space" : "") + (token.out ? " out" : "");

function figure(gaze, parent) {
  const count = { rows: gaze.rows.length, columns: gaze.columns.length };
  const links = new Set(gaze.links.map(([row, column]) => row * count.columns + column));
  let weights = gaze.heads[0];
  let pinned = null; // what a click keeps: {side, index}
  const at = (row, column) => weights[row * count.columns + column];

  const box = make("figure", parent);
  const top = make("div", box, { class: "top" });
  make("h2", top, { text: gaze.title, dir: "auto" });
  if (gaze.names.length > 1) {
    const label = make("label", top, { text: "Show" });
    const choice = make("select", label);
    gaze.names.forEach((name, i) => make("option", choice, { text: name, value: i }));
    choice.addEventListener("change", () => {
      weights = gaze.heads[+choice.value];
      paint();
      choose(pinned);
    });
  }

  const tokens = { columns: words("columns", "Input"), rows: words("rows", "Output") };
  const said = make("p", box, { class: "said", "aria-live": "polite", dir: "auto" });

  function words(side, name) {
    make("div", box, { class: "side", text: name, "aria-hidden": "true" });
    const letters = gaze[side].every((token) => token.letter);
    const line = make("div", box, { class: letters ? "words letters" : "words", dir: gaze.directions[side], role: "group", "aria-label": name });
    return gaze[side].map((token, index) => {
      if (side === "columns" && gaze.breaks.includes(index)) make("span", line, { class: "between", "aria-hidden": "true" });
      const element = make("span", line, {
        class: "token" + kind(token), text: token.text, role: "button", dir: "auto", tabindex: index ? -1 : 0,
        "aria-pressed": "false", "aria-label": `${name} ${index + 1}: ${token.text}${token.out ? ", not chosen" : ""}`,
      });
      element.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && choose({ side, index }));
      element.addEventListener("pointerleave", () => choose(pinned));
      element.addEventListener("focus", () => choose({ side, index }));
      element.addEventListener("blur", () => choose(pinned));
      element.addEventListener("click", () => pin({ side, index }));
      element.addEventListener("keydown", (event) => move(event, side, index));
      return element;
    });
  }

  function pin(what) {
    const same = pinned && what && pinned.side === what.side && pinned.index === what.index;
    pinned = same ? null : what;
    choose(pinned);
  }

  function move(event, side, index) {
    const step = getComputedStyle(tokens[side][index].parentElement).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: index + step, ArrowLeft: index - step, Home: 0, End: count[side] - 1 }[event.key];
    const other = { ArrowDown: "rows", ArrowUp: "columns" }[event.key];
    if (event.key === "Enter" || event.key === " ") pin({ side, index });
    else if (event.key === "Escape") pin(null);
    else if (to !== undefined) go(tokens[side][to], tokens[side]);
    else if (other) go(tokens[other].find((token) => token.tabIndex === 0), tokens[other]);
    else return;
    event.preventDefault();
  }

  function go(token, line) {
    if (!token) return;
    line.forEach((one) => (one.tabIndex = -1));
    token.tabIndex = 0;
    token.focus();
  }

  // Colour the other side by its weight, and say in words what is seen.
  function choose(what) {
    for (const token of [...tokens.rows, ...tokens.columns]) {
      token.classList.remove("chosen", "strong", "true");
      token.setAttribute("aria-pressed", "false");
      token.style.removeProperty("--w");
      token.removeAttribute("data-share");
    }
    labels.rows.concat(labels.columns).forEach((label) => label.classList.remove("chosen"));
    mark.hidden = !what;
    if (!what) {
      said.textContent = "Point at a word, tap it, or use the arrow keys to see what belongs to it.";
      return;
    }
    const { side, index } = what;
    const isRow = side === "rows";
    const other = isRow ? "columns" : "rows";
    tokens[side][index].classList.add("chosen");
    tokens[side][index].setAttribute("aria-pressed", "true");
    labels[side][index].classList.add("chosen");
    place(mark, isRow ? index : 0, isRow ? 0 : index, isRow ? 1 : count.rows, isRow ? count.columns : 1);
    const seen = tokens[other].map((token, i) => {
      const weight = isRow ? at(index, i) : at(i, index);
      const share = weight / gaze.top;
      token.style.setProperty("--w", share.toFixed(3));
      token.classList.toggle("strong", share > (dark.matches ? 0.62 : 0.77)); // where the contrast turns
      token.classList.toggle("true", links.has(isRow ? index * count.columns + i : i * count.columns + index));
      if (share >= 0.1) token.setAttribute("data-share", percent(weight));
      return { weight, text: gaze[other][i].text };
    }).filter((one) => one.weight > 0).sort((a, b) => b.weight - a.weight).slice(0, 4);
    // Tokens of any direction stand isolated (U+2068 … U+2069) in the sentence around them.
    const quote = (text) => `\u2068“${text}”\u2069`;
    const list = seen.map((one) => `${quote(one.text)} ${percent(one.weight)}`).join(", ") || "nothing";
    said.textContent = quote(gaze[side][index].text) + (isRow ? " looked at " : " was looked at by ") + list;
  }

  const longer = Math.max(count.rows, count.columns, 1);
  const cell = longer <= 40 ? 24 : longer <= 80 ? 15 : Math.max(2, Math.floor(1000 / longer));
  const scroll = make("div", box, { class: "scroll" });
  const matrix = make("div", scroll, { class: cell < 12 ? "matrix tiny" : "matrix" });
  if (gaze.columns.every((token) => token.letter)) matrix.classList.add("letters");
  matrix.style.setProperty("--cell", cell + "px");
  matrix.style.setProperty("grid-template-columns", `auto repeat(${count.columns || 1}, ${cell}px)`);
  matrix.style.setProperty("grid-template-rows", `auto repeat(${count.rows || 1}, ${cell}px)`);
  const canvas = make("canvas", matrix, { width: count.columns || 1, height: count.rows || 1, role: "img", "aria-label": "matrix of weights, rows are output, columns input" });
  place(canvas, 0, 0, count.rows, count.columns);
  place(make("div", matrix, { class: "lines" }), 0, 0, count.rows, count.columns);
  const mark = make("div", matrix, { class: "mark" });
  gaze.breaks.forEach((column) => place(make("div", matrix, { class: "begin" }), 0, column, count.rows, 1));
  gaze.links.forEach(([row, column]) => place(make("div", matrix, { class: "link" }), row, column, 1, 1));
  const labels = {
    rows: gaze.rows.map((token, i) => place(make("div", matrix, { class: "row" + kind(token), text: token.text, dir: "auto" }), i, -1, 1, 1)),
    columns: gaze.columns.map((token, i) => place(make("div", matrix, { class: "column" + kind(token), text: token.text, dir: "auto" }), -1, i, 1, 1)),
  };

  function place(element, row, column, high, wide) {
    element.style.setProperty("grid-area", `${row + 2} / ${column + 2} / span ${high || 1} / span ${wide || 1}`);
    return element;
  }

  function paint() {
    const heat = getComputedStyle(document.documentElement).getPropertyValue("--heat").trim().split(/\s+/).map(Number);
    const pixels = new ImageData(canvas.width, canvas.height);
    weights.forEach((weight, i) => pixels.data.set([...heat, Math.round(255 * weight / gaze.top)], 4 * i));
    canvas.getContext("2d").putImageData(pixels, 0, 0);
  }
  canvas.addEventListener("pointermove", (event) => {
    const row = Math.min(count.rows - 1, Math.floor(event.offsetY / cell));
    const column = Math.min(count.columns - 1, Math.floor(event.offsetX / cell));
    if (row < 0 || column < 0) return;
    choose({ side: "rows", index: row });
    labels.columns[column].classList.add("chosen");
    canvas.title = `${gaze.rows[row].text} ← ${gaze.columns[column].text}: ${percent(at(row, column))}`;
  });
  canvas.addEventListener("pointerleave", () => choose(pinned));
  dark.addEventListener("change", paint);

  const legend = make("div", box, { class: "legend" });
  const scale = make("span", legend, { text: "0" });
  make("span", scale, { class: "bar" });
  scale.append(percent(gaze.top));
  if (links.size) {
    const known = make("span", legend);
    make("span", known, { class: "frame" });
    known.append("true link");
  }
  if (gaze.rows.concat(gaze.columns).some((token) => token.out)) make("span", legend, { class: "out", text: "(word) was not chosen" });
  if (gaze.breaks.length) {
    const begins = make("span", legend);
    make("span", begins, { class: "between" });
    begins.append("another input begins");
  }
  paint();
  choose(null);
}

const data = JSON.parse(document.getElementById("data").textContent);
data.gazes.forEach((gaze) => figure(gaze, document.querySelector("main")));

// Colours of the style, for what is drawn and not styled. One hue from paper to blue, even in lightness; orange for
// true links and for less: the two stand apart for the colour-blind too.

export interface Colours {
  paper: string;
  card: string;
  ink: string;
  soft: string;
  line: string;
  accent: string;
  heat: [number, number, number];
  base: [number, number, number];
  less: [number, number, number];
  onHeat: string;
}

const numbers = (text: string): [number, number, number] => {
  const hex = /^#?([0-9a-f]{6})$/i.exec(text.trim());
  const parts = hex ? [0, 2, 4].map((i) => parseInt(hex[1].slice(i, i + 2), 16)) : text.trim().split(/[\s,]+/).map(Number);
  return [parts[0] || 0, parts[1] || 0, parts[2] || 0];
};

const dark = matchMedia("(prefers-color-scheme: dark)");
let known: { theme: string; colours: Colours } | null = null;

// As the page is now. Asked for at every move of the mouse, so it is read from the style only when the theme changed.
export function colours(): Colours {
  const theme = `${document.documentElement.dataset["theme"]} ${dark.matches}`;
  if (known?.theme !== theme) known = { theme, colours: fresh() };
  return known.colours;
}

function fresh(): Colours {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    paper: get("--paper"),
    card: get("--card"),
    ink: get("--ink"),
    soft: get("--soft"),
    line: get("--line"),
    accent: get("--true"),
    heat: numbers(get("--heat")),
    base: numbers(get("--card")),
    less: numbers(get("--true")),
    onHeat: get("--on-heat"),
  };
}

export function channels(share: number, c: Colours): [number, number, number] {
  const to = share < 0 ? c.less : c.heat;
  const part = Math.min(1, Math.abs(share));
  return [0, 1, 2].map((i) => Math.round(c.base[i] + (to[i] - c.base[i]) * part)) as [number, number, number];
}

const linear = (n: number): number => (n <= 10 ? n / 3295 : ((n / 255 + 0.055) / 1.055) ** 2.4);

// Black or white, whichever stands out more from a share's colour: 4.5 to 1 at least.
export function onto(share: number, c: Colours): string {
  const [r, g, b] = channels(share, c).map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

export const mix = (share: number, c: Colours): string =>
  "#" + channels(share, c).map((n) => n.toString(16).padStart(2, "0")).join("");

export const rgb = (c: [number, number, number]): string => `rgb(${c.join(",")})`;

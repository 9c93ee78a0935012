import { randomInts } from "./random-ints.ts";

/** A mistyped domain, and the intended one. */
export interface Slip {
  typed: string;
  meant: string;
}

/**
 * How people mistype, after Damerau (1964): four in five errors are one letter dropped, added, replaced, or two
 * swapped. Weights in parts of 100. Nine times of ten the first letter is left correct, since readers look at it.
 */
const KINDS: readonly [kind: keyof typeof MISTAKES, parts: number][] = [
  ["drop", 20],
  ["swap", 18],
  ["double", 12],
  ["neighbour", 20],
  ["add", 6],
  ["ending", 18],
  ["endingDropped", 6],
];

const KEYS_BESIDE: Readonly<Record<string, string>> = {
  ...{ a: "qsz", b: "vhn", c: "xdv", d: "sfe", e: "wrd", f: "dgr", g: "fht", h: "gjy", i: "uok" },
  ...{ j: "hku", k: "jli", l: "ko", m: "njk", n: "bmh", o: "ipl", p: "ol", q: "wa", r: "etf" },
  ...{ s: "adw", t: "ryg", u: "yij", v: "cbf", w: "qes", x: "zcs", y: "tuh", z: "xas" },
};

/** Slips of `com`, `net` and country endings. Some of them exist as endings, which makes them the hard ones. */
const ENDING_SLIPS: Readonly<Record<string, readonly string[]>> = {
  com: ["con", "co", "cm", "om", "cmo", "vom", "xom", "comm", "cpm", "ocm", "coom", "clm", "comn"],
  net: ["ney", "nte", "bet", "nett", "met", "nt", "ent"],
  de: ["ed", "dee", "dr", "fe"],
  fr: ["ft", "fe", "frr", "gr"],
  it: ["iy", "itt", "ir"],
  "co.uk": ["couk", "co.ul", "co.ik", "co.u", "o.uk", "co.uj"],
};

type Draw = (below: number) => number;

const cut = (text: string, at: number, put: string, length: number) =>
  text.slice(0, at) + put + text.slice(at + length);

function beside(key: string | undefined, draw: Draw): string {
  const keys = KEYS_BESIDE[key ?? ""] ?? "";
  return keys[draw(Math.max(1, keys.length))] ?? "x";
}

const MISTAKES = {
  drop: (name: string, at: number) => cut(name, at, "", 1),
  swap: (name: string, at: number) => {
    const left = Math.min(at, name.length - 2);
    return cut(name, left, `${name[left + 1]}${name[left]}`, 2);
  },
  double: (name: string, at: number) => cut(name, at, `${name[at]}${name[at]}`, 1),
  neighbour: (name: string, at: number, draw: Draw) => cut(name, at, beside(name[at], draw), 1),
  add: (name: string, at: number, draw: Draw) => cut(name, at, `${name[at]}${beside(name[at], draw)}`, 1),
  ending: (name: string) => name,
  endingDropped: (name: string) => name,
} as const;

function mistyped(meant: string, kind: keyof typeof MISTAKES, draw: Draw): string {
  const dot = meant.indexOf(".");
  const [name, ending] = [meant.slice(0, dot), meant.slice(dot + 1)];
  if (kind === "endingDropped") return `${name}.${ending.slice(0, -1)}`;
  if (kind === "ending") {
    const slips = ENDING_SLIPS[ending] ?? [`${ending}${ending.at(-1)}`];
    return `${name}.${slips[draw(slips.length)]}`;
  }
  const at = draw(10) === 0 ? 0 : 1 + draw(name.length - 1);
  return `${MISTAKES[kind](name, at, draw)}.${ending}`;
}

function drawKind(draw: Draw): keyof typeof MISTAKES {
  let left = draw(KINDS.reduce((sum, [, parts]) => sum + parts, 0));
  for (const [kind, parts] of KINDS) {
    if (left < parts) return kind;
    left -= parts;
  }
  return "drop";
}

/**
 * Draws `count` different slips of `domains`, the same ones for a seed. A slip that equals its domain, or one that
 * `isReal` knows, is drawn again: it could not be recognised.
 */
export function slipsOf(
  domains: readonly string[],
  count: number,
  seed: number,
  isReal: (domain: string) => boolean,
): Slip[] {
  const draw = randomInts(seed);
  const slips = new Map<string, Slip>();
  for (let tries = 0; slips.size < count && tries < count * 20; tries++) {
    const meant = domains[draw(domains.length)] ?? "";
    const typed = mistyped(meant, drawKind(draw), draw);
    if (typed !== meant && !isReal(typed)) slips.set(typed, { typed, meant });
  }
  return [...slips.values()];
}

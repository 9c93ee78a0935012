import { textIn, toText } from "../field.ts";
import { LETTER_PAIRS } from "./letter-pairs.ts";

/** Languages that share their encodings, by their name in LETTER_PAIRS. */
export type Languages = keyof typeof LETTER_PAIRS;

/** How well text fits languages. */
export interface LanguageFit {
  /** Share of common pairs among the pairs of letters that are not both ASCII: 0 to 1. */
  share: number;
  pairs: number;
}

/** Quotes, dashes and spaces, which occur beside letters in any language: they separate words. */
const SIGNS = /[\u00a0\u00ab\u00bb\u2010-\u2026\u2039\u203a]/gu;

const EDGE = "_";

function readPairs(table: string): ReadonlySet<number> {
  const pairs = new Set<number>();
  for (const [first = "", ...others] of table.trim().split(/\s+/))
    for (const other of others) pairs.add(pairOf(codeOf(first), codeOf(other)));
  return pairs;
}

const codeOf = (letter: string): number => (letter === EDGE ? 0 : letter.charCodeAt(0));
const pairOf = (first: number, second: number): number => first * 0x1_0000 + second;

const PAIRS = new Map(Object.entries(LETTER_PAIRS).map(([name, table]) => [name, readPairs(table)]));

/**
 * Measures how well words fit the languages. A capital after a small letter never counts as common: in the wrong encoding
 * cases are mixed.
 */
export function fitOf(words: readonly string[], languages: Languages): LanguageFit {
  const known = PAIRS.get(languages) ?? new Set();
  let pairs = 0;
  let common = 0;
  for (const word of words) {
    const folded = word.toLowerCase();
    let last = 0;
    for (let at = 0; at <= folded.length; at += 1) {
      const next = at < folded.length ? codeOf(folded.charAt(at)) : 0;
      if (last > 0x7f || next > 0x7f) {
        pairs += 1;
        const isMixed = at > 0 && isSmall(word, folded, at - 1) && isCapital(word, folded, at);
        if (!isMixed && known.has(pairOf(last, next))) common += 1;
      }
      last = next;
    }
  }
  return { share: pairs === 0 ? 0 : common / pairs, pairs };
}

const isCapital = (word: string, folded: string, at: number): boolean => word[at] !== folded[at];
const isSmall = (word: string, folded: string, at: number): boolean =>
  word[at] === folded[at] && word[at] !== word[at]?.toUpperCase();

/** Each of the words (latin1) in the encoding; without one in windows-1252. Signs become edges of words. */
export function wordsIn(words: readonly string[], encoding?: string): string[] {
  const text = encoding === undefined ? words.map(toText).join("\n") : textIn(words.join("\n"), encoding);
  // The lower case of the Turkish capital İ is two characters.
  return text.replaceAll("İ", "I").replace(SIGNS, EDGE).split("\n");
}

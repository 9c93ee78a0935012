import { lazy } from "../../platform/lazy.ts";
import { ACQUITTING } from "./lexicon/acquitting.ts";
import { BY_LANGUAGE } from "./lexicon/by-language.ts";
import { OTHER_NOUNS, RECIPIENT_NOUNS, SENDER_NOUNS } from "./lexicon/nouns.ts";
import { ABSENT, FULL, INVALID, SHUT, UNAVAILABLE } from "./lexicon/states.ts";
import { compilePhrases } from "./phrases.ts";
import { spokenOf, UNSPACED } from "./spoken.ts";

/** Bytes above ASCII make the rest of this file necessary; most replies have none. */
const ASCII = /^[\0-\x7f]*$/;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Character sets that mail servers still write, most common first, by their names in WHATWG's Encoding standard. */
const CHARACTER_SETS = [
  "windows-1252",
  "windows-1251",
  "koi8-u",
  "gb18030",
  "big5",
  "shift_jis",
  "euc-jp",
  "euc-kr",
  "iso-8859-2",
  "windows-1250",
  "windows-1254",
  "windows-1253",
  "iso-8859-5",
] as const;
const decoders = lazy(() => CHARACTER_SETS.map((name) => new TextDecoder(name)));

/** All words by which replies are understood, about any party. Text in a wrong character set has none of them. */
const book = lazy(() => {
  const lines = [
    ...[...ABSENT, ...SHUT, ...FULL, ...UNAVAILABLE, ...INVALID].flatMap(({ terms }) => terms),
    ...[...RECIPIENT_NOUNS, ...SENDER_NOUNS, ...OTHER_NOUNS],
    ...Object.values(BY_LANGUAGE).flatMap((terms) => Object.values(terms)),
    ...Object.values(ACQUITTING).flatMap((terms) => Object.values(terms)),
  ];
  const words = lines
    .flatMap((line) => line.split(","))
    .filter((term) => !ASCII.test(term))
    .map((term) => spokenOf(term.replace("~", "").trim()))
    .map((term) => (UNSPACED.test(term) ? term.trim() : term.trimEnd()))
    .filter((term) => term.trim() !== "");
  const phrases = [...new Set(words)];
  return { phrases, found: compilePhrases(phrases) };
});

/**
 * Weight of known words with letters beyond ASCII in a text: the squares of their lengths, since a stray character is a
 * word in Chinese.
 */
function knownIn(text: string): number {
  const { phrases, found } = book();
  let characters = 0;
  found.scan(spokenOf(text), (phrase) => {
    characters += (phrases[phrase]?.length ?? 0) ** 2;
  });
  return characters;
}

function asUtf8(bytes: Buffer): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

/** UTF-8, but for a character that the end of the reply cut: up to three bytes of it, behind whole ones. */
function asCutUtf8(bytes: Buffer, latin1: string): string | null {
  const whole = asUtf8(bytes);
  if (whole !== null) return whole;
  const high = /[\x80-\xff]{1,3}$/.exec(latin1)?.[0].length ?? 0;
  for (let cut = 1; cut <= high; cut++) {
    const text = asUtf8(bytes.subarray(0, -cut));
    if (text !== null && !ASCII.test(text)) return text;
  }
  return null;
}

/** Decodes high bytes that form whole words of another script: Chinese or Cyrillic, by the range of the bytes. */
function byRange(bytes: Buffer, latin1: string): string {
  if (!/[\x80-\xff]{4}/.test(latin1)) return latin1;
  const letters = { low: 0, upperHalf: 0, lowerHalf: 0 };
  for (const byte of bytes)
    if (byte >= 0xe0) letters.upperHalf++;
    else if (byte >= 0xc0) letters.lowerHalf++;
    else if (byte >= 0x80) letters.low++;
  const [, windows1251, koi8, gb18030] = decoders();
  // Small letters lie above 0xe0 in windows-1251 and below it in KOI8-R, and most letters are small.
  const cyrillic = letters.upperHalf > letters.lowerHalf ? windows1251 : koi8;
  const decoder = letters.low * 5 > letters.upperHalf + letters.lowerHalf ? gb18030 : cyrillic;
  return decoder?.decode(bytes) ?? latin1;
}

/**
 * The text that a server meant by bytes that we read as Latin-1: UTF-8 where they are; else the character set in which
 * most of it is words that replies are known by; else by the range of its bytes; else Latin-1. Linear.
 */
export function decoded(latin1: string): string {
  if (ASCII.test(latin1)) return latin1;
  const bytes = Buffer.from(latin1, "latin1");
  const utf8 = asCutUtf8(bytes, latin1);
  if (utf8 !== null) return utf8;
  let best = { text: byRange(bytes, latin1), known: 0 };
  best.known = knownIn(best.text);
  for (const decoder of decoders()) {
    const text = decoder.decode(bytes);
    const known = knownIn(text);
    if (known > best.known) best = { text, known };
  }
  return best.text;
}

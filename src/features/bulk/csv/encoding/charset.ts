import { isUtf8 } from "node:buffer";
import { namesAddresses } from "../../columns/header-meaning.ts";
import { toUtf8 } from "../field.ts";
import { bestEastAsian } from "./charset-east-asian.ts";
import { fitOf, type Languages, wordsIn } from "./charset-score.ts";

/** Encodings that a list may be in, by their names in the WHATWG's Encoding Standard. Others have to be named by an option. */
export const ENCODINGS: readonly string[] = [
  ..."utf-8 shift_jis euc-jp gbk gb18030 big5 euc-kr koi8-r koi8-u ibm866 macintosh windows-874".split(" "),
  ...Array.from({ length: 9 }, (_, i) => `windows-125${i}`),
  ...[1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16].map((part) => `iso-8859-${part}`),
];

/** Encodings with a byte for a character, by the languages that are written in them. Of equal ones the first counts. */
const SINGLE_BYTE = [
  ["windows-1251", "cyrillic"],
  ["koi8-r", "cyrillic"],
  ["koi8-u", "cyrillic"],
  ["iso-8859-5", "cyrillic"],
  ["windows-1253", "greek"],
  ["iso-8859-7", "greek"],
  ["windows-1255", "hebrew"],
  ["iso-8859-8", "hebrew"],
  ["windows-1256", "arabic"],
  ["iso-8859-6", "arabic"],
  ["windows-874", "thai"],
  ["windows-1250", "central"],
  ["iso-8859-2", "central"],
  ["windows-1254", "turkish"],
  ["windows-1257", "baltic"],
  ["iso-8859-13", "baltic"],
] as const;

/** Those that are written in windows-1252. */
const WESTERN: readonly Languages[] = ["german", "romance"];

const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** More words of the sample tell no more. */
const WORDS_MAX = 400;
/** "Acme®", "5 cm°": what are small signs in windows-1252 are capitals in others. */
const SIGNED = /^[A-Za-z]+[\xa9\xae\xb0\xb7]$/;
/** Longer words are cut: they are not names. */
const WORD_BYTES = 64;
/** Minimum share of the pairs of letters that are common in the languages of the encoding. */
const SHARE_MIN = 0.8;
/** Minimum lead over windows-1252, the usual encoding of lists that are not UTF-8: as a share, and in pairs of letters. */
const MARGIN_SHARE = 0.2;
const MARGIN_PAIRS = 2;
/** Bonus of a header with a column named as one of addresses: to the share, and in pairs. */
const HEADER_SHARE = 0.3;
const HEADER_PAIRS = 4;

/**
 * Detects the encoding of a list that is not UTF-8, from its first bytes. The words must fit a language written in it, and
 * clearly better than western languages in windows-1252. Undefined: UTF-8, or windows-1252 value by value.
 */
export function detectEncoding(head: Buffer): string | undefined {
  const isUnicode = [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, Math.max(0, head.length - cut))));
  if (isUnicode || head.subarray(0, 3).equals(UTF8_MARK)) return undefined;
  const text = head.toString("latin1");
  const words = foreignWords(text);
  const legacy = words.filter((word) => !isUtf8(Buffer.from(word, "latin1")));
  // A list of UTF-8 with a few damaged or older values.
  if (legacy.length * 2 <= words.length) return undefined;
  const western = wordsIn(words);
  const header = headerCells(text);
  let best: { encoding: string; share: number } | undefined = bestEastAsian(head);
  for (const [encoding, languages] of SINGLE_BYTE) {
    const share = shareAhead(words, western, header, encoding, languages);
    if (share > (best?.share ?? 0)) best = { encoding, share };
  }
  return best?.encoding;
}

/** How well words fit languages in the encoding; 0: not clearly better than western ones in windows-1252. */
function shareAhead(
  words: readonly string[],
  western: readonly string[],
  header: readonly string[],
  encoding: string,
  languages: Languages,
): number {
  const decoded = wordsIn(words, encoding);
  // Words that are the same in both say nothing for either.
  const differs = (word: string, at: number): boolean => word !== western[at];
  const { share, pairs } = fitOf(decoded.filter(differs), languages);
  const inWestern = western.filter((word, at) => word !== decoded[at]);
  const other = Math.max(...WESTERN.map((group) => fitOf(inWestern, group).share));
  const isNamed = header.some((cell) => namesAddresses(toUtf8(cell, encoding)));
  const total = share + (isNamed ? HEADER_SHARE : 0);
  const ahead = (share - other) * pairs + (isNamed ? HEADER_PAIRS : 0);
  const isClear = total >= SHARE_MIN && total - other >= MARGIN_SHARE && ahead >= MARGIN_PAIRS;
  return isClear ? fitOf(decoded, languages).share + (isNamed ? HEADER_SHARE : 0) : 0;
}

/** Different words that are not all ASCII, latin1. */
function foreignWords(text: string): string[] {
  const words = new Set<string>();
  // Words of ASCII are matched too: to look for the first foreign letter from each of their letters would be quadratic.
  for (const [word] of text.matchAll(/[A-Za-z\x80-\xff]{2,}/g)) {
    if (/[\x80-\xff]/.test(word) && !SIGNED.test(word)) words.add(word.slice(0, WORD_BYTES));
    if (words.size === WORDS_MAX) break;
  }
  return [...words];
}

/** Cells of the first line that are not ASCII and may name a column of addresses only once they are decoded. */
function headerCells(text: string): string[] {
  const line = /[^\r\n]+/.exec(text.slice(0, 4_096))?.[0] ?? "";
  return line
    .split(/[;,\t|]/)
    .map((cell) => cell.replaceAll('"', "").trim())
    .filter((cell) => /[\x80-\xff]/.test(cell) && !namesAddresses(cell))
    .slice(0, 50);
}

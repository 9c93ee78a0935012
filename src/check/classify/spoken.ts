/** Bytes above ASCII make the rest of this file necessary; most replies have none. */
const ASCII = /^[\0-\x7f]*$/;

const CYRILLIC_KOI8 = new TextDecoder("koi8-r");
const CYRILLIC_WINDOWS = new TextDecoder("windows-1251");
const CHINESE = new TextDecoder("gb18030");
const UTF8 = new TextDecoder("utf-8", { fatal: true });

function asUtf8(bytes: Buffer): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The text that a server meant by bytes that we read as Latin-1. UTF-8 where they are; else, where high bytes follow one
 * another as only whole words in another script do, Chinese or Cyrillic by the range they keep to; else Latin-1.
 */
export function decoded(latin1: string): string {
  if (ASCII.test(latin1)) return latin1;
  const bytes = Buffer.from(latin1, "latin1");
  const utf8 = asUtf8(bytes);
  if (utf8 !== null) return utf8;
  // A reply cut in the middle of a character ends in up to three bytes of it.
  for (let cut = 1; cut <= 3; cut++) {
    const cutUtf8 = /[\x80-\xff]{1,3}$/.test(latin1) ? asUtf8(bytes.subarray(0, -cut)) : null;
    if (cutUtf8 !== null) return cutUtf8;
  }
  if (!/[\x80-\xff]{4}/.test(latin1)) return latin1;
  const letters = { low: 0, upperHalf: 0, lowerHalf: 0 };
  for (const byte of bytes)
    if (byte >= 0xe0) letters.upperHalf++;
    else if (byte >= 0xc0) letters.lowerHalf++;
    else if (byte >= 0x80) letters.low++;
  if (letters.low * 5 > letters.upperHalf + letters.lowerHalf) return CHINESE.decode(bytes);
  // Small letters lie above 0xe0 in windows-1251 and below it in KOI8-R, and most letters are small.
  return letters.upperHalf > letters.lowerHalf ? CYRILLIC_WINDOWS.decode(bytes) : CYRILLIC_KOI8.decode(bytes);
}

const LATIN: Readonly<Record<string, string>> = {
  ß: "ss",
  ł: "l",
  ø: "o",
  đ: "d",
  ð: "d",
  ı: "i",
  æ: "ae",
  œ: "oe",
  þ: "th",
  ё: "е",
};

const MARKS = /[\u0300-\u036f]/g;

/** Lower case, without accents: `Empfänger` and `Empfanger`, `não` and `nao` are the same words. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  if (ASCII.test(lower)) return lower;
  return lower
    .normalize("NFD")
    .replace(MARKS, "")
    .normalize("NFC")
    .replace(/[ßłøđðıæœþё]/g, (letter) => LATIN[letter] ?? letter);
}

const LINK = /\bhttps?:\/\/\S*/g;

/** Chinese, Japanese and Korean characters: words without spaces between them. */
export const UNSPACED = /[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;

const LETTER = /[\p{L}\p{N}@]/u;

/** What a character is to a sentence. */
const LETTER_KIND = 0;
const NOTHING = 1;
const SPACE = 2;
const PAUSE = 3;
const STOP = 4;
const HYPHEN = 5;

const KINDS = Uint8Array.from({ length: 65_536 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (LETTER.test(character)) return LETTER_KIND;
  if (character === "'" || character === "\u2019" || character === "`") return NOTHING;
  if (/[,;:=|\u3001\uff0c\uff1a]/.test(character)) return PAUSE;
  if (/[.!?\u3002]/.test(character)) return STOP;
  return character === "-" ? HYPHEN : SPACE;
});

const BLANK = 0x20;
const COMMA = 0x2c;
const DOT = 0x2e;
const SMALL_L = 0x6c;

/** What stands for the character at `at` between words: a space, a comma or a dot. `user...  unknown` goes on. */
function between(kind: number, text: string, at: number): number {
  if (kind === PAUSE) return COMMA;
  const next = at + 1 < text.length ? (KINDS[text.charCodeAt(at + 1)] ?? SPACE) : SPACE;
  if (kind === HYPHEN) return next === LETTER_KIND ? BLANK : COMMA;
  if (kind === STOP && next === SPACE && text.charCodeAt(at - 1) !== DOT) return DOT;
  return BLANK;
}

/** Whether the word before an apostrophe ends there: `l'utente`, `n'existe`, `dell'utente`; not in `doesn't`. */
function elides(said: Uint16Array, length: number): boolean {
  return said[length - 2] === BLANK || (said[length - 1] === SMALL_L && said[length - 2] === SMALL_L);
}

/**
 * A reply as words: lower case, without accents, links and quotes, single spaces around each word. ` , ` is a pause and
 * ` . ` the end of a sentence; a dot inside a name or a number only parts words. `@` stands for a mail address.
 * Linear.
 * @param prose decoded text in which `*@*` stands for addresses
 */
export function spokenOf(prose: string): string {
  const text = folded(prose.includes("://") ? prose.replace(LINK, " ") : prose).replaceAll("*@*", " @ ");
  const said = new Uint16Array(text.length * 3 + 2);
  said[0] = BLANK;
  let length = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const kind = KINDS[code] ?? SPACE;
    if (kind === LETTER_KIND) said[length++] = code;
    if (kind === LETTER_KIND || (kind === NOTHING && !elides(said, length))) continue;
    if (said[length - 1] !== BLANK) said[length++] = BLANK;
    const mark = between(kind, text, at);
    if (mark === BLANK || said[length - 2] === mark) continue;
    said[length++] = mark;
    said[length++] = BLANK;
  }
  if (said[length - 1] !== BLANK) said[length++] = BLANK;
  return String.fromCharCode(...said.subarray(0, length));
}

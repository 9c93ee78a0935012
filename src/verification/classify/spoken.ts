/** Bytes above ASCII make the rest of this file necessary; most replies have none. */
const ASCII = /^[\0-\x7f]*$/;

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

/** Kinds of characters in a sentence. */
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

/**
 * The character between words that replaces the one at `at`: a space, a comma or a dot. `user...  unknown` is one sentence.
 */
function between(kind: number, text: string, at: number): number {
  if (kind === PAUSE) return COMMA;
  const next = at + 1 < text.length ? (KINDS[text.charCodeAt(at + 1)] ?? SPACE) : SPACE;
  if (kind === HYPHEN) return next === LETTER_KIND ? BLANK : COMMA;
  if (kind === STOP && next === SPACE && text.charCodeAt(at - 1) !== DOT) return DOT;
  return BLANK;
}

/** True when an apostrophe ends the word before it: `l'utente`, `n'existe`, `dell'utente`; not in `doesn't`. */
function elides(said: Uint16Array, length: number): boolean {
  return said[length - 2] === BLANK || (said[length - 1] === SMALL_L && said[length - 2] === SMALL_L);
}

/**
 * A reply as words: lower case, without accents, links and quotes, single spaces around each word. ` , ` is a pause and ` .
 * ` the end of a sentence; a dot inside a name or a number only separates words. `@` represents a mail address. Linear.
 * @param prose decoded text with `*@*` for addresses
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

/** Spellings of letters without their diacritics. */
const WRITTEN_OUT: Readonly<Record<string, string>> = { ä: "ae", ö: "oe", ü: "ue", å: "aa", ø: "oe" };
/** Latin letters with a diacritic, for which a gateway with ASCII only writes `?`. */
const MARKED = /[\u00c0-\u024f\u1e00-\u1eff]/;
/** With fewer remaining letters, a mangled word could be another word. */
const LETTERS_LEFT = 5;

/** The spellings of a lexicon's word: as given, written out (`empfaenger`), and mangled by a gateway (`empf?nger`). */
export function spellingsOf(term: string): string[] {
  if (!MARKED.test(term)) return [term];
  const written = term.replace(/[äöüåø]/g, (letter) => WRITTEN_OUT[letter] ?? letter);
  const mangled = term.replace(new RegExp(`${MARKED.source}+`, "g"), "?");
  const left = mangled.replace(/[^a-z]/gi, "").length;
  return [...new Set([term, written, ...(left >= LETTERS_LEFT ? [mangled] : [])])];
}

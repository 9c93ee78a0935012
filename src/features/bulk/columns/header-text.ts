import { toText } from "../csv/field.ts";
import type { WordsByLanguage } from "./role-words.ts";

/** Longer cells are text, and name nothing. */
const NAME_CHARS = 120;

/** Words of the longest phrase in the lists. */
const PHRASE_WORDS = 4;

/** Diacritics of Latin, Greek and Cyrillic, vowel points of Hebrew and Arabic: written or left out at will. */
const MARKS = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]/g;

/** Soft hyphens, joiners and marks of direction. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]/g;

/** Letters that Unicode does not decompose, as they are written without their stroke. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  ı: "i",
  þ: "th",
};

/** Lower case, without accents, in one normal form, so that words that differ only by those are equal. */
export function foldHeaderText(text: string): string {
  return text
    .normalize("NFKD")
    .replace(MARKS, "")
    .replace(INVISIBLE, "")
    .toLowerCase()
    .replace(/[ßæœøđðłıþ]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .normalize("NFC");
}

/**
 * The words of a column's name (latin1, as fields are): "E-Mail (privat)" is e, mail, privat; `workEmail1` is work, email,
 * 1; Salesforce's `Email_Address__c` is email, address. Empty when the name is empty or too long, or contains a delimiter,
 * and so is not a name.
 */
export function wordsOf(name: string): string[] {
  if (name.length > 4 * NAME_CHARS) return [];
  const text = toText(name).normalize("NFKC").trim();
  if (text.length > NAME_CHARS || /[;^|\t~@]/.test(text)) return [];
  const split = text
    .replace(/__(?:c|r|pc)$/i, "")
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replace(/(\p{L})(\p{N})/gu, "$1 $2")
    .replace(/(\p{N})(\p{L})/gu, "$1 $2");
  return foldHeaderText(split)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "");
}

/**
 * Scripts whose words are separated by spaces and have no particles attached. In all other scripts words are searched
 * anywhere.
 */
const SPACED =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{N}]+$/u;

/** Words and phrases of several languages, to be found among the words of a name. */
export class WordList {
  readonly #phrases = new Set<string>();
  /** Beginnings of words. */
  readonly #stems = new Set<string>();
  readonly #inText: string[] = [];

  constructor(languages: readonly WordsByLanguage[]) {
    for (const words of languages.flatMap((byLanguage) => Object.values(byLanguage))) this.#add(words);
    // The longest first, so that "电子邮件" is found before "邮件".
    this.#inText.sort((a, b) => b.length - a.length);
  }

  #add(list: string): void {
    const isInText = list.startsWith("inText:");
    for (const entry of (isInText ? list.slice("inText:".length) : list).split(",")) {
      const word = foldHeaderText(entry.trim().replace(/\s+/g, " "));
      if (isInText) this.#inText.push(word);
      else if (word.endsWith("*")) this.#stems.add(word.slice(0, -1));
      else this.#phrases.add(word);
    }
  }

  /** Length of the longest phrase or stem that equals the text, or begins it; 0: no match. */
  #length(text: string): number {
    if (this.#phrases.has(text)) return text.length;
    // A stem has any ending, not further words.
    const lastWord = text.lastIndexOf(" ") + 1;
    for (let end = text.length; end > lastWord + 1; end--)
      if (this.#stems.has(text.slice(0, end))) return end;
    return 0;
  }

  has(word: string): boolean {
    return this.#length(word) > 0;
  }

  /** The words without those of the list. Of words in scripts without spaces, the rest of each. */
  without(words: readonly string[]): string[] {
    const left: string[] = [];
    for (let at = 0; at < words.length; ) {
      const taken = this.#phraseAt(words, at);
      if (taken === 0) left.push(words[at] ?? "");
      at += Math.max(1, taken);
    }
    return this.#withoutInText(left);
  }

  /** Number of words from `at` on that form a phrase of the list. */
  #phraseAt(words: readonly string[], at: number): number {
    for (let count = Math.min(PHRASE_WORDS, words.length - at); count > 0; count--)
      if (this.has(words.slice(at, at + count).join(" "))) return count;
    return 0;
  }

  #withoutInText(words: string[]): string[] {
    if (words.every((word) => SPACED.test(word))) return words;
    let text = words.join(" ");
    for (const word of this.#inText) text = text.replaceAll(word, " ");
    return text.split(" ").filter((word) => word !== "");
  }

  foundIn(words: readonly string[]): boolean {
    return this.without(words).join(" ") !== words.join(" ");
  }

  /** As `foundIn`, also within a word: "accountowner" ends with an owner, "ownername" begins with one. */
  foundWithin(words: readonly string[]): boolean {
    return this.foundIn(words) || words.some((word) => this.#isPartOf(word));
  }

  #isPartOf(word: string): boolean {
    if (!SPACED.test(word)) return false;
    for (let from = 1; from <= word.length - 5; from++) if (this.#length(word.slice(from)) >= 5) return true;
    for (let end = 6; end < word.length; end++) if (this.#phrases.has(word.slice(0, end))) return true;
    return false;
  }
}

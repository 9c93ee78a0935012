import type { MayBeRole } from "../lists/role-hints.ts";

const PLUS = 0x2b;
const HYPHEN = 0x2d;
const DOT = 0x2e;
const NINE = 0x39;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const UNDERSCORE = 0x5f;

const VOWELS: ReadonlySet<number> = new Set(Buffer.from("aeiouy"));
const vowels = new Uint8Array(128);
for (const byte of VOWELS) vowels[byte] = 1;

/** As `roleOf` has it: a shorter one may be somebody's initials. */
const JOINED_MIN = 6;

/**
 * Whether a local part is surely nobody's role (`roleOf`), has nothing to say for itself (`localSignals`), has no tag (`tagOf`) and is
 * in lower case, by its bytes alone: so are nearly all, and to see it so is a twentieth of reading them as text. False is not sure. A test holds it to
 * both. @param bytes from `from` to before `to`: letters, digits, `-`, `_`, `+` and single dots, the first a letter or digit
 */
export function isOrdinaryLocal(bytes: Uint8Array, from: number, to: number, mayBeRole: MayBeRole): boolean {
  let length = 0;
  /** Without what divides it. */
  let joined = 0;
  let first = 0;
  let second = 0;
  let joinedSecond = 0;
  let last = 0;
  let joinedLast = 0;
  let letters = 0;
  let ofVowels = 0;
  /** From a letter to a digit, or back. */
  let changes = 0;
  let wasDigit = false;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    // A tag; `owner-list`, `list-request`; what `normalized_email` has in lower case.
    if (byte === PLUS || byte === HYPHEN || (byte >= UPPER_A && byte <= UPPER_Z)) return false;
    length += 1;
    last = byte;
    if (length === 1) first = byte;
    if (length <= 2) second = byte;
    if (byte === DOT || byte === UNDERSCORE) continue;
    const isDigit = byte <= NINE;
    joined += 1;
    joinedLast = byte;
    if (joined <= 2) joinedSecond = byte;
    if (joined > 1 && isDigit !== wasDigit) changes += 1;
    wasDigit = isDigit;
    if (isDigit) continue;
    letters += 1;
    ofVowels += vowels[byte] as number;
  }
  // Digits only; and what looks random, but that also divides itself.
  if (letters === 0 || (length >= 12 && joined === length && (changes >= 5 || ofVowels * 10 < letters)))
    return false;
  if (mayBeRole(length, first, second, last)) return false;
  return joined === length || joined < JOINED_MIN || !mayBeRole(joined, first, joinedSecond, joinedLast);
}

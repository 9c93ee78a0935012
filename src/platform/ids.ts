import { hash as hashOnce, randomBytes } from "node:crypto";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_PREFIXES = [
  "team",
  "usr",
  "key",
  "sess",
  "job",
  "upl",
  "wh",
  "inv",
  "evt",
  "ovr",
  "dlv",
  "mail",
  "req",
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** A word is 40 bits: 8 characters of base 32. */
const WORD = 2 ** 40;
/** Maximum step between two ids of a millisecond. The step is random, so that ids cannot be guessed from their neighbours. */
const STEP_MAX = 2 ** 38;

/** The random part of the last id, and its millisecond. */
const last = { epochMs: -1, high: 0, low: 0 };

/**
 * Draws a new random part in a new millisecond. Within one millisecond the random part grows, so that ids sort in creation
 * order.
 */
function advance(epochMs: number): void {
  if (epochMs !== last.epochMs) {
    const random = randomBytes(10);
    // Half of the range is left to grow in: more ids than a millisecond has room for.
    Object.assign(last, {
      epochMs,
      high: random.readUIntBE(0, 5) % (WORD / 2),
      low: random.readUIntBE(5, 5),
    });
    return;
  }
  last.low += 1 + (randomBytes(5).readUIntBE(0, 5) % STEP_MAX);
  if (last.low < WORD) return;
  last.low -= WORD;
  last.high += 1;
}

/** The last `count` digits of `value` in base 32. */
function encode(value: number, count: number): string {
  let rest = value;
  let text = "";
  for (let i = 0; i < count; i++) {
    text = CROCKFORD.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/**
 * A new id: `prefix_` and 26 characters of Crockford base 32. These are 48 bits of time in milliseconds, then 80 random
 * bits. The random bits grow within a millisecond, so that the ids of a process sort in creation order. The layout is that
 * of a monotonic ULID in lower case.
 */
export function newId(prefix: IdPrefix, epochMs: number = Date.now()): string {
  advance(epochMs);
  return `${prefix}_${encode(epochMs, 10)}${encode(last.high, 8)}${encode(last.low, 8)}`;
}

/**
 * True when `text` has the form of an id with the prefix. Other text names nothing and is not worth a query to the
 * database, which rejects some texts (NUL).
 */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(prefix.length + 1));
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** By the code of a base64url letter: the letter with only its first two bits. */
const LAST = Array.from({ length: 128 }, (_, code) => {
  const value = BASE64URL.indexOf(String.fromCharCode(code));
  return value < 0 ? "" : (BASE64URL[value & 0x30] as string);
});

/** Characters of a `hash128`. */
export const HASH_CHARS = 22;

/** The first 128 bits of SHA-256, as base64url. Cut out of the text of all of it, without a Buffer in between. */
export function hash128(text: string): string {
  const digest = hashOnce("sha256", text, "base64url");
  return digest.slice(0, HASH_CHARS - 1) + (LAST[digest.charCodeAt(HASH_CHARS - 1)] as string);
}

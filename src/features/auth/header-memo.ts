import { LIMITS } from "../../config/limits/limits.ts";
import { codeAt } from "../../platform/v8/code-at.ts";
import { hashSecret } from "../identity/api-key.ts";
import type { CachedCredential, CredentialCache } from "./cache.ts";

/** `rcpt_` kind `_` and 33 letters and digits: nothing else is worth hashing. */
export const SECRET_CHARS = 43;
export const SCHEME_CHARS = "Bearer ".length;
/** How nearly all write it. */
export const HEADER_START = "Bearer rcpt_";
const HEADER_CHARS = SCHEME_CHARS + SECRET_CHARS;
/** Where the random part of a secret begins: behind `rcpt_`, its kind and `_`. */
const RANDOM_AT = HEADER_START.length + "live_".length;
/** Code of an ASCII character. */
const CHAR_BITS = 7;
/** Odd, their bits spread: what is multiplied by them differs in its highest bits. */
const [SPREAD, SPREAD_AGAIN] = [0x9e3779b1, 0x85ebca6b];
/** Shifts a hash to the even index of the first of a header's two slots. */
const PAIR_SHIFT = Math.clz32(LIMITS.keys.headerSlots / 2 - 1);

interface MemoEntry {
  /** The first eight random characters, in two numbers. */
  readonly first: number;
  readonly second: number;
  readonly authorization: string;
  readonly entry: CachedCredential;
}

/**
 * Entries of the cache by the header they were found with, since to hash the secret takes a tenth of all that a cached
 * answer takes. Each is hashed again once in LIMITS.keys.headerMs, and after any change, so that nothing but the entry is
 * believed. The headers are secrets: none is held for longer than that and LIMITS.keys.pollMs.
 *
 * A header has two slots, by eight random characters of its secret: a new header takes the first, and the one that was
 * there moves to the second. A Map hashes all fifty characters (0.1 us more). With one slot each, two of 64 keys met in one
 * of nine processes, and when their requests alternated, each was hashed: 3 in a hundred. Of a thousand keys 60 met
 * another. A comparison of texts takes the longer the more of them is alike, but texts are compared only where these eight
 * characters are the same: the time tells nothing to a client that has not guessed 47 random bits at once.
 */
export interface HeaderMemo {
  /** The entry of a header as most write it; undefined: there is none, or it is written otherwise. */
  find(authorization: string, nowMs: number): CachedCredential | undefined;
  /** Forgets them all when their time is up, also when no requests come. */
  expire(nowMs: number): void;
  /** Headers held. */
  size(): number;
}

/** Four characters as one number. */
function fourAt(header: string, at: number): number {
  const low = codeAt(header, at) + (codeAt(header, at + 1) << CHAR_BITS);
  const high = codeAt(header, at + 2) + (codeAt(header, at + 3) << CHAR_BITS);
  return low + (high << (2 * CHAR_BITS));
}

function memoSlotOf(first: number, second: number): number {
  return 2 * (Math.imul(first ^ Math.imul(second, SPREAD), SPREAD_AGAIN) >>> PAIR_SHIFT);
}

export function createHeaderMemo(cache: Pick<CredentialCache, "get" | "epoch">): HeaderMemo {
  const slots = new Array<MemoEntry | null>(LIMITS.keys.headerSlots).fill(null);
  let taken = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  let epoch = cache.epoch();

  function forget(): void {
    if (taken > 0) slots.fill(null);
    taken = 0;
  }

  function store(at: number, added: MemoEntry): void {
    const before = slots[at] as MemoEntry | null;
    if (before === null || slots[at + 1] === null) taken += 1;
    if (before !== null) slots[at + 1] = before;
    slots[at] = added;
  }

  /** The slot's entry, if it is of this header. */
  function entryAt(at: number, first: number, second: number, authorization: string): MemoEntry | null {
    const found = slots[at] as MemoEntry | null;
    if (found === null || found.first !== first || found.second !== second) return null;
    return found.authorization === authorization ? found : null;
  }

  return {
    find(authorization, nowMs) {
      if (nowMs >= untilMs || epoch !== cache.epoch()) {
        forget();
        untilMs = nowMs + LIMITS.keys.headerMs;
        epoch = cache.epoch();
      }
      if (authorization.length !== HEADER_CHARS) return undefined;
      const first = fourAt(authorization, RANDOM_AT);
      const second = fourAt(authorization, RANDOM_AT + 4);
      const at = memoSlotOf(first, second);
      const found =
        entryAt(at, first, second, authorization) ?? entryAt(at + 1, first, second, authorization);
      if (found !== null) return found.entry;
      if (!authorization.startsWith(HEADER_START)) return undefined;
      const entry = cache.get(hashSecret(authorization.slice(SCHEME_CHARS)));
      if (entry !== undefined) store(at, { first, second, authorization, entry });
      return entry;
    },
    expire(nowMs) {
      if (nowMs >= untilMs) forget();
    },
    size: () => taken,
  };
}

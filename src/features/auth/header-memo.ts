import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { upTo } from "../../platform/lru.ts";
import { hashSecret } from "../identity/api-key.ts";
import type { CachedCredential, CredentialCache } from "./cache.ts";

/** `rcpt_` kind `_` and 33 letters and digits: nothing else is worth hashing. */
export const SECRET_CHARS = 43;
export const SCHEME_CHARS = "Bearer ".length;
/** How nearly all write it. */
export const HEADER_START = "Bearer rcpt_";
const HEADER_CHARS = SCHEME_CHARS + SECRET_CHARS;

/**
 * Entries of the cache by the header they were found with, since to hash the secret takes a tenth of all that a cached
 * answer takes. Each is hashed again once in LIMITS.keys.headerMs, and after any change, so that nothing but the entry is
 * believed. The headers are secrets: none is held for longer than that and LIMITS.keys.pollMs. A map compares texts only where
 * their hashes are the same, by a seed that each process draws for itself: the time tells nothing to a client that guesses.
 */
export interface HeaderMemo {
  /** The entry of a header as most write it; undefined: there is none, or it is written otherwise. */
  find(authorization: string, nowMs: number): CachedCredential | undefined;
  /** Forgets them all when their time is up, also when no requests come. */
  expire(nowMs: number): void;
  /** Headers held. */
  size(): number;
}

export function createHeaderMemo(cache: Pick<CredentialCache, "get" | "epoch">): HeaderMemo {
  const entries = new LRUCache<string, CachedCredential>(upTo(LIMITS.keys.headers));
  let untilMs = Number.NEGATIVE_INFINITY;
  let epoch = cache.epoch();

  return {
    find(authorization, nowMs) {
      if (nowMs >= untilMs || epoch !== cache.epoch()) {
        entries.clear();
        untilMs = nowMs + LIMITS.keys.headerMs;
        epoch = cache.epoch();
      }
      if (authorization.length !== HEADER_CHARS) return undefined;
      const known = entries.get(authorization);
      if (known !== undefined) return known;
      if (!authorization.startsWith(HEADER_START)) return undefined;
      const entry = cache.get(hashSecret(authorization.slice(SCHEME_CHARS)));
      if (entry !== undefined) entries.set(authorization, entry);
      return entry;
    },
    expire(nowMs) {
      if (nowMs >= untilMs) entries.clear();
    },
    size: () => entries.size,
  };
}

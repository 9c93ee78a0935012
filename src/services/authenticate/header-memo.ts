import { LIMITS } from "../../core/limits.ts";
import { hashSecret } from "../api-key.ts";
import type { CachedCredential, CredentialCache } from "./cache.ts";

/** `rcpt_` kind `_` and 33 letters and digits: nothing else is worth hashing. */
export const SECRET_CHARS = 43;
export const SCHEME_CHARS = "Bearer ".length;
/** How nearly all write it. */
export const HEADER_START = "Bearer rcpt_";
const HEADER_CHARS = SCHEME_CHARS + SECRET_CHARS;

/**
 * Entries of the cache by the header they were found with, since to hash the secret takes a tenth of all that a cached
 * answer takes: each again once in LIMITS.keys.headerMs, and after any change, so that nothing but the entry is believed.
 * The headers are secrets: none is held for longer than that and LIMITS.keys.pollMs.
 */
export interface HeaderMemo {
  /** The entry of a header as most write it; undefined: there is none, or it is written otherwise. */
  find(authorization: string, nowMs: number): CachedCredential | undefined;
  /** Forgets them all when their time is up, also where nobody asks any more. */
  expire(nowMs: number): void;
  /** Headers held. */
  size(): number;
}

export function createHeaderMemo(cache: Pick<CredentialCache, "get" | "epoch">): HeaderMemo {
  const byHeader = new Map<string, CachedCredential>();
  let untilMs = Number.NEGATIVE_INFINITY;
  let epoch = cache.epoch();

  function expire(nowMs: number): void {
    if (nowMs >= untilMs) byHeader.clear();
  }

  return {
    find(authorization, nowMs) {
      if (nowMs >= untilMs || epoch !== cache.epoch() || byHeader.size >= LIMITS.keys.headers) {
        byHeader.clear();
        untilMs = nowMs + LIMITS.keys.headerMs;
        epoch = cache.epoch();
      }
      const known = byHeader.get(authorization);
      if (known !== undefined) return known;
      if (authorization.length !== HEADER_CHARS || !authorization.startsWith(HEADER_START)) return undefined;
      const entry = cache.get(hashSecret(authorization.slice(SCHEME_CHARS)));
      if (entry !== undefined) byHeader.set(authorization, entry);
      return entry;
    },
    expire,
    size: () => byHeader.size,
  };
}

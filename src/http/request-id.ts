import { newId } from "../core/ids.ts";

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const COUNTER_CHARS = 6;
const COUNTER_END = 32 ** COUNTER_CHARS;

/** The caller's `X-Request-Id` when it is sane, else null. */
export function saneRequestId(header: string): string | null {
  return header !== "" && SANE_ID.test(header) ? header : null;
}

function counterText(count: number): string {
  let text = "";
  for (let shift = 5 * (COUNTER_CHARS - 1); shift >= 0; shift -= 5) text += DIGITS[(count >>> shift) & 31];
  return text;
}

/**
 * Makes request ids in the layout of `newId("req")`: the time and random bits of one such id, the last characters a
 * counter. An id of its own for each request would cost more (random bytes) than serving it from the cache; a request
 * id must be unique, not secret.
 */
export function createRequestIds(): () => string {
  let base = "";
  let count = COUNTER_END;
  return () => {
    if (count >= COUNTER_END) {
      base = newId("req").slice(0, -COUNTER_CHARS);
      count = 0;
    }
    return base + counterText(count++);
  };
}

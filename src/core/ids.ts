import { randomBytes } from "node:crypto";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_PREFIXES = ["team", "usr", "key", "sess", "job", "upl", "wh", "inv", "evt", "req"] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/**
 * A new id, `prefix_` and 26 characters of Crockford base 32: 48 bits of time in milliseconds, so that ids
 * sort by creation, then 80 random bits. The layout is that of a ULID in lower case.
 */
export function newId(prefix: IdPrefix, epochMs: number = Date.now()): string {
  let time = epochMs;
  let head = "";
  for (let i = 0; i < 10; i++) {
    head = CROCKFORD.charAt(time % 32) + head;
    time = Math.floor(time / 32);
  }
  let tail = "";
  const random = randomBytes(16);
  for (const byte of random) tail += CROCKFORD.charAt(byte & 31);
  return `${prefix}_${head}${tail}`;
}

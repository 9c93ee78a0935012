import { newId } from "../core/ids.ts";

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const DIGIT_BYTES = new Uint8Array(Buffer.from(DIGITS));
const COUNTER_CHARS = 6;
const COUNTER_END = 32 ** COUNTER_CHARS;

/** The caller's `X-Request-Id` when it is sane, else null. */
export function saneRequestId(header: string): string | null {
  return header !== "" && SANE_ID.test(header) ? header : null;
}

/**
 * Ids in the layout of `newId("req")`: the time and random bits of one such id, the last characters a counter. An id of
 * its own for each request would cost more (random bytes) than serving it from the cache; a request id must be unique, not
 * secret.
 */
export interface RequestIds {
  /** Characters of each. */
  readonly length: number;
  next(): string;
  /**
   * Makes the next one and writes its characters to `into`, from `at` on.
   * @param since what the last call for that place returned: what cannot differ since is left as it stands there. Absent: nothing stands there
   */
  write(into: Uint8Array, at: number, since?: number): number;
  /** The same of the one made last. */
  writeLast(into: Uint8Array, at: number): void;
  /** The one made last. */
  last(): string;
}

export function createRequestIds(): RequestIds {
  let base = newId("req").slice(0, -COUNTER_CHARS);
  let baseBytes = new Uint8Array(Buffer.from(base));
  let count = -1;
  /** How many bases there have been. */
  let bases = 1;

  function step(): void {
    count += 1;
    if (count < COUNTER_END) return;
    base = newId("req").slice(0, -COUNTER_CHARS);
    baseBytes = new Uint8Array(Buffer.from(base));
    count = 0;
    bases += 1;
  }

  function last(): string {
    // Put together once: six pieces, one behind the other, and joined when it is written, took 1 us of an uncached answer.
    const digit = (place: number) => DIGIT_BYTES[(count >>> (5 * place)) & 31] as number;
    return base + String.fromCharCode(digit(5), digit(4), digit(3), digit(2), digit(1), digit(0));
  }

  function writeCounter(into: Uint8Array, at: number): void {
    let place = at;
    for (let shift = 5 * (COUNTER_CHARS - 1); shift >= 0; shift -= 5)
      into[place++] = DIGIT_BYTES[(count >>> shift) & 31] ?? 0;
  }

  function writeLast(into: Uint8Array, at: number): void {
    into.set(baseBytes, at);
    writeCounter(into, at + baseBytes.length);
  }

  return {
    length: base.length + COUNTER_CHARS,
    last,
    writeLast,
    next() {
      step();
      return last();
    },
    write(into, at, since = 0) {
      step();
      if (since === bases) writeCounter(into, at + baseBytes.length);
      else writeLast(into, at);
      return bases;
    },
  };
}

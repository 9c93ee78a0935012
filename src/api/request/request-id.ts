import { newId } from "../../platform/ids.ts";

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;
const DIGIT_BYTES = new Uint8Array(Buffer.from("0123456789abcdefghjkmnpqrstvwxyz"));
const COUNTER_CHARS = 6;
const COUNTER_END = 32 ** COUNTER_CHARS;

/** The caller's `X-Request-Id` when it is sane, else null. */
export function saneRequestId(header: string): string | null {
  return header !== "" && SANE_ID.test(header) ? header : null;
}

/**
 * Ids in the layout of `newId("req")`: the time and random bits of one such id, the last characters a counter. A random id
 * for each request would cost more than serving the request from the cache; a request id must be unique, not secret.
 *
 * A request takes a number. Its id is written only where it is shown: as bytes into the head of the reply, as text in a log
 * line. The text of a number is valid only within the request's call: after 2 ** 30 requests the numbers are used again
 * with another base.
 */
export interface RequestIds {
  /** Characters of each. */
  readonly length: number;
  /** The number of the next one. */
  take(): number;
  text(number: number): string;
  /**
   * Writes the characters to `into`, from `at` on.
   * @param since result of the last call for that place: characters that cannot have changed are not written again. Absent:
   *   the place is empty
   */
  write(number: number, into: Uint8Array, at: number, since?: number): number;
}

export function createRequestIds(): RequestIds {
  let base = newId("req").slice(0, -COUNTER_CHARS);
  let baseBytes = new Uint8Array(Buffer.from(base));
  let count = -1;
  /** Number of bases so far. */
  let bases = 1;

  function renewBase(): void {
    base = newId("req").slice(0, -COUNTER_CHARS);
    baseBytes = new Uint8Array(Buffer.from(base));
    count = 0;
    bases += 1;
  }

  return {
    length: base.length + COUNTER_CHARS,
    take() {
      count += 1;
      if (count >= COUNTER_END) renewBase();
      return count;
    },
    text(number) {
      // Put together once: six pieces, one behind the other, and joined when it is written, took 1 us of an uncached answer.
      const digit = (place: number) => DIGIT_BYTES[(number >>> (5 * place)) & 31] as number;
      return base + String.fromCharCode(digit(5), digit(4), digit(3), digit(2), digit(1), digit(0));
    },
    write(number, into, at, since = 0) {
      if (since !== bases) into.set(baseBytes, at);
      let place = at + baseBytes.length;
      for (let shift = 5 * (COUNTER_CHARS - 1); shift >= 0; shift -= 5)
        into[place++] = DIGIT_BYTES[(number >>> shift) & 31] as number;
      return bases;
    },
  };
}

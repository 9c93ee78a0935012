/** Moments of which the texts are kept, 150 bytes each. */
const TIMES_KEPT = 1_024;

/** The start of a result's times in its JSON. */
export const TIMES_START = '"cache_ttl_seconds":';

function render(storedAt: number, ttlS: number): string {
  const expiresAt = ttlS > 0 ? `"${new Date(storedAt + ttlS * 1_000).toISOString()}"` : "null";
  const verifiedAt = new Date(storedAt).toISOString();
  return `${TIMES_START}${ttlS},"cache_expires_at":${expiresAt},"verified_at":"${verifiedAt}","retry_at":null,"livemode":true}`;
}

/**
 * The members of a result from `cache_ttl_seconds` on, as text. Rows that were learnt together have them in common; a list has
 * rows of many batches, by turns.
 */
export class RowTimes {
  /** By `storedAt`. Emptied when full: a bound, not a policy. */
  readonly #known = new Map<number, { ttlS: number; text: string }>();
  #last = { storedAt: 0, ttlS: -1, text: "" };

  /** @param storedAt epoch milliseconds */
  textOf(storedAt: number, ttlS: number): string {
    const last = this.#last;
    if (storedAt === last.storedAt && ttlS === last.ttlS) return last.text;
    const text = this.#knownText(storedAt, ttlS);
    this.#last = { storedAt, ttlS, text };
    return text;
  }

  #knownText(storedAt: number, ttlS: number): string {
    const found = this.#known.get(storedAt);
    if (found !== undefined && found.ttlS === ttlS) return found.text;
    if (this.#known.size >= TIMES_KEPT) this.#known.clear();
    const text = render(storedAt, ttlS);
    this.#known.set(storedAt, { ttlS, text });
    return text;
  }
}

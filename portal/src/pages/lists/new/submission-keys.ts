/**
 * The `Idempotency-Key` of each list that a page submits. Every attempt at one body has the same key: when the answer to the
 * first attempt was lost, the service answers the next one with the same job, and charges nothing twice. A refused request
 * leaves its key unused, so no refusal needs a new one.
 */
export class SubmissionKeys {
  readonly #keys = new Map<string, string>();

  /** The key of a body, as JSON text. */
  keyOf(body: string): string {
    const known = this.#keys.get(body);
    if (known !== undefined) return known;
    const key = crypto.randomUUID();
    this.#keys.set(body, key);
    return key;
  }

  /** The body became a job. The same list, submitted once more, is a new job. */
  forget(body: string): void {
    this.#keys.delete(body);
  }
}

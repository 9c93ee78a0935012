const SPAN_MS = 8_000;
const LEAST_MS = 1_000;

/** Bytes a second, over the last seconds. */
export class Pace {
  #samples: { atMs: number; bytes: number }[] = [];

  /** Starts a new measurement after a pause. */
  clear(): void {
    this.#samples = [];
  }

  /** @param bytes in all so far @returns bytes a second; null: too early to say */
  note(atMs: number, bytes: number): number | null {
    this.#samples.push({ atMs, bytes });
    while ((this.#samples[0]?.atMs ?? atMs) < atMs - SPAN_MS) this.#samples.shift();
    const first = this.#samples[0];
    if (first === undefined || atMs - first.atMs < LEAST_MS) return null;
    return Math.max(0, ((bytes - first.bytes) * 1_000) / (atMs - first.atMs));
  }
}

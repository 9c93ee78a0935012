import type { BucketGrant, BucketRequest } from "./redis-buckets.ts";

/** A token bucket of this process alone, for when Redis is away. */
export class LocalBucket {
  #tokens: number;
  #atMs: number;

  /** @param tokens those in it at `nowMs`, not necessarily whole */
  constructor(tokens: number, nowMs: number) {
    this.#tokens = Math.max(0, tokens);
    this.#atMs = nowMs;
  }

  /** As Redis answers, with tokens for waiting requests alone: none is leased from it. */
  take({ ratePerS, burst, waiting, back }: BucketRequest, nowMs: number): BucketGrant {
    const refilled = ((nowMs - this.#atMs) * ratePerS) / 1000;
    const tokens = Math.min(burst, this.#tokens + refilled + back);
    const granted = Math.min(waiting, Math.floor(tokens));
    this.#tokens = tokens - granted;
    this.#atMs = nowMs;
    const isShort = granted < waiting;
    const nextMs = isShort ? Math.ceil(((1 - this.#tokens) * 1000) / ratePerS) : 0;
    return { granted, left: Math.floor(this.#tokens), nextMs };
  }

  /** When it is full if nothing more is taken, monotonic. */
  fullAtMs({ ratePerS, burst }: Pick<BucketRequest, "ratePerS" | "burst">): number {
    return this.#atMs + ((burst - this.#tokens) * 1000) / ratePerS;
  }
}

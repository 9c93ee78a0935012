import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { NO_SLOT, TextMap } from "./text-map.ts";

/** An entry in memory, for who asks for it again and again. It may be over, as memory has another one or none, once `endings` has grown. */
export interface Held {
  readonly entry: CacheEntry;
  /** Monotonic, whole: when it has to be asked for again at the latest. V8 keeps no number with a fraction in its object, but beside it. */
  readonly goodUntilMs: number;
}

/** Of `goodUntilMs`: it has not been held yet. */
const NEVER_MS = -1;

class Kept implements Held {
  readonly entry: CacheEntry;
  goodUntilMs = NEVER_MS;

  constructor(entry: CacheEntry) {
    this.entry = entry;
  }
}

/** Numbers of a seat, side by side: half of what a core reads at once. */
const STORED_AT = 0;
const TTL_S = 1;
/** When it was last known to be the newest: another process may refresh it in Redis. */
const SEEN_MS = 2;
const LATENCY_MS = 3;
const STRIDE = 4;

/**
 * The memory of evidence: of an address its text, four numbers, and evidence that it shares with all that are alike. As objects
 * an entry was six, 550 bytes, through all of which V8 goes whenever it marks its heap, and a look touched four of them. One that is
 * asked for again is made an object, the same for all who ask, since answers that were drawn from it are kept by it.
 *
 * Memory: 100 to 160 bytes an entry, and its evidence where no other is like it; some 350 more where it is an object.
 */
export class EvidenceMemory {
  /** Of each address evidence like its own, or its entry as an object. */
  readonly #seats: TextMap<Evidence | Kept>;
  #numbers: Float64Array;
  readonly #clock: Clock;
  #endings = 0;

  /**
   * @param maxEntries at least 1
   * @param seatsAtOnce see `TextMap`
   */
  constructor(maxEntries: number, clock: Clock, seatsAtOnce?: number) {
    this.#seats = new TextMap(maxEntries, seatsAtOnce);
    this.#numbers = new Float64Array(STRIDE * this.#seats.room);
    this.#clock = clock;
  }

  /** What there is, alive or not. */
  get(key: string): CacheEntry | undefined {
    const seat = this.#seats.find(key);
    return seat === NO_SLOT ? undefined : this.#entryAt(seat);
  }

  /** What is alive and was seen to be the newest lately. */
  peek(key: string): CacheEntry | undefined {
    const seat = this.#seats.find(key);
    if (seat === NO_SLOT || !this.#isGood(seat)) return undefined;
    return this.#seats.isAccessedAgain(seat) ? this.#keptAt(seat).entry : this.#entryAt(seat);
  }

  /** `peek`, and until when that need not be asked again. */
  hold(key: string): Held | undefined {
    const seat = this.#seats.find(key);
    if (seat === NO_SLOT || !this.#isGood(seat)) return undefined;
    const kept = this.#keptAt(seat);
    const { storedAt, ttlS } = kept.entry;
    const nowMs = this.#clock.monotonic();
    const goodUntilMs = Math.min(
      nowMs + storedAt + ttlS * 1000 - this.#clock.now(),
      (this.#numbers[seat * STRIDE + SEEN_MS] as number) + LIMITS.evidenceCache.memoryMs,
      nowMs + LIMITS.evidenceCache.holdMs,
    );
    kept.goodUntilMs = Math.floor(goodUntilMs);
    return kept;
  }

  /** How often something that was held has come to be over: while it is the same, nothing has. */
  get endings(): number {
    return this.#endings;
  }

  /** It is the newest of the address now. */
  keep(key: string, entry: CacheEntry): void {
    // First: evidence that is none throws before there is a seat that nothing sits in.
    const like = entry.evidence.shared();
    const seat = this.#seats.slotFor(key);
    const before = this.#seats.at(seat);
    // What is seen again stays what it is.
    if (!(before instanceof Kept) || before.entry !== entry) {
      this.#end(before);
      this.#seats.put(seat, like);
    }
    const at = seat * STRIDE;
    if (at >= this.#numbers.length) this.#grow();
    const numbers = this.#numbers;
    numbers[at + STORED_AT] = entry.storedAt;
    numbers[at + TTL_S] = entry.ttlS;
    numbers[at + SEEN_MS] = this.#clock.monotonic();
    numbers[at + LATENCY_MS] = entry.evidence.latencyMs;
  }

  drop(key: string): void {
    this.#end(this.#seats.delete(key));
  }

  #isGood(seat: number): boolean {
    const numbers = this.#numbers;
    const at = seat * STRIDE;
    const overAt = (numbers[at + STORED_AT] as number) + (numbers[at + TTL_S] as number) * 1000;
    if (overAt <= this.#clock.now()) return false;
    return this.#clock.monotonic() - (numbers[at + SEEN_MS] as number) < LIMITS.evidenceCache.memoryMs;
  }

  #entryAt(seat: number): CacheEntry {
    const found = this.#seats.at(seat) as Evidence | Kept;
    if (found instanceof Kept) return found.entry;
    const at = seat * STRIDE;
    return {
      evidence: found.after(this.#numbers[at + LATENCY_MS] as number),
      storedAt: this.#numbers[at + STORED_AT] as number,
      ttlS: this.#numbers[at + TTL_S] as number,
    };
  }

  #keptAt(seat: number): Kept {
    const found = this.#seats.at(seat);
    if (found instanceof Kept) return found;
    const kept = new Kept(this.#entryAt(seat));
    this.#seats.put(seat, kept);
    return kept;
  }

  #end(gone: Evidence | Kept | undefined): void {
    if (gone instanceof Kept) this.#endings += 1;
  }

  #grow(): void {
    const numbers = new Float64Array(STRIDE * this.#seats.room);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}

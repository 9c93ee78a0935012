import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { Evidence } from "../../../verification/evidence/model.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { NO_SLOT, TextMap } from "./text-map.ts";

/** Numbers of a slot, side by side: half of a cache line. */
const STORED_AT = 0;
const TTL_S = 1;
/** When it was last known to be the newest: another process may refresh it in Redis. */
const CONFIRMED_MS = 2;
const LATENCY_MS = 3;
const STRIDE = 4;

/**
 * Evidence in memory: for each address its text, four numbers, and an object of evidence that equal addresses share. As
 * objects an entry was six, 550 bytes, all marked at each garbage collection. An entry that is looked up again becomes an
 * object, the same for all callers, since answers that were rendered from it are kept by it.
 *
 * Memory: 100 to 160 bytes an entry, and its evidence where no other is like it; some 350 more where it is an object.
 */
export class EvidenceMemory {
  /** For each address evidence like its own, or its entry as an object. */
  readonly #slots: TextMap<Evidence | CacheEntry>;
  #numbers: Float64Array;
  readonly #clock: Clock;

  /**
   * @param maxEntries at least 1
   * @param initialSlots see `TextMap`
   */
  constructor(maxEntries: number, clock: Clock, initialSlots?: number) {
    this.#slots = new TextMap(maxEntries, initialSlots);
    this.#numbers = new Float64Array(STRIDE * this.#slots.room);
    this.#clock = clock;
  }

  /** The entry, expired or not. */
  get(key: string): CacheEntry | undefined {
    const slot = this.#slots.find(key);
    return slot === NO_SLOT ? undefined : this.#entryAt(slot);
  }

  /** The entry, if it is live and was lately known to be the newest. */
  peek(key: string): CacheEntry | undefined {
    const slot = this.#slots.find(key);
    if (slot === NO_SLOT || !this.#isFresh(slot)) return undefined;
    return this.#slots.isAccessedAgain(slot) ? this.#keptAt(slot) : this.#entryAt(slot);
  }

  /** Stores the entry as the newest of its address, as of now. */
  keep(key: string, entry: CacheEntry): void {
    // First: invalid evidence must throw before a slot is allocated for it.
    const like = entry.evidence.shared();
    const slot = this.#slots.slotFor(key);
    // An entry read from this slot, and stored again, keeps its object.
    if (this.#slots.at(slot) !== entry) this.#slots.put(slot, like);
    const at = slot * STRIDE;
    if (at >= this.#numbers.length) this.#grow();
    const numbers = this.#numbers;
    numbers[at + STORED_AT] = entry.storedAt;
    numbers[at + TTL_S] = entry.ttlS;
    numbers[at + CONFIRMED_MS] = this.#clock.monotonic();
    numbers[at + LATENCY_MS] = entry.evidence.latencyMs;
  }

  drop(key: string): void {
    this.#slots.delete(key);
  }

  #isFresh(slot: number): boolean {
    const numbers = this.#numbers;
    const at = slot * STRIDE;
    const overAt = (numbers[at + STORED_AT] as number) + (numbers[at + TTL_S] as number) * 1000;
    if (overAt <= this.#clock.now()) return false;
    return this.#clock.monotonic() - (numbers[at + CONFIRMED_MS] as number) < LIMITS.evidenceCache.memoryMs;
  }

  #entryAt(slot: number): CacheEntry {
    const found = this.#slots.at(slot) as Evidence | CacheEntry;
    if (!(found instanceof Evidence)) return found;
    const at = slot * STRIDE;
    return {
      evidence: found.after(this.#numbers[at + LATENCY_MS] as number),
      storedAt: this.#numbers[at + STORED_AT] as number,
      ttlS: this.#numbers[at + TTL_S] as number,
    };
  }

  /** The entry as an object, which the slot keeps. */
  #keptAt(slot: number): CacheEntry {
    const entry = this.#entryAt(slot);
    this.#slots.put(slot, entry);
    return entry;
  }

  #grow(): void {
    const numbers = new Float64Array(STRIDE * this.#slots.room);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}

/**
 * A bounded map that forgets entries that were not requested lately: two generations, of which the older is dropped when
 * the younger is full. A look-up costs no more than a Map's, where an LRU list must be updated each time.
 */
export class RecentMap<K, V> {
  readonly #half: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** @param max entries in all, at least 2 */
  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: K): V | undefined {
    const found = this.#young.get(key);
    // Hashing a text costs more than checking for an empty map.
    if (found !== undefined || this.#old.size === 0) return found;
    const older = this.#old.get(key);
    if (older === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, older);
    return older;
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}

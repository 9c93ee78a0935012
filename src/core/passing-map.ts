/**
 * A map for short-lived entries. V8 copies a Map after many additions and deletions, and each copy refers to the next: once
 * one is in the old generation, it and everything in later ones, whole requests, live until the heap is marked. This map's
 * inner Map holds only keys and numbers.
 */
export class PassingMap<K, V> {
  readonly #places = new Map<K, number>();
  /** By slot; null: free. */
  readonly #values: (V | null)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.size;
  }

  get(key: K): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : (this.#values[place] as V);
  }

  set(key: K, value: V): void {
    const known = this.#places.get(key);
    const place = known ?? this.#free.pop() ?? this.#values.length;
    if (known === undefined) this.#places.set(key, place);
    this.#values[place] = value;
  }

  delete(key: K): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    this.#places.delete(key);
    this.#values[place] = null;
    this.#free.push(place);
  }
}

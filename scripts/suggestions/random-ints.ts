/** Numbers from 0 to below 1 that look random, the same row for a seed (mulberry32). Not for secrets. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whole numbers from 0 to `below` - 1. */
export function randomInts(seed: number): (below: number) => number {
  const random = createRandom(seed);
  return (below) => Math.floor(random() * below);
}

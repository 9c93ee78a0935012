import type { Costs } from "./scenario.ts";

/**
 * CPU of one core of the machine of bench/RESULTS.md (2 cores, Xeon, Node.js 20), the API's figure aside that of a bulk process
 * with all its threads. `npm run bench` has those of another machine, `npm run capacity -- --measure` too.
 */
export const MEASURED_COSTS: Costs = {
  // "answered from lists" and "answered from the cache": analysis, chunks and assembly.
  listedUs: 19.4,
  cachedUs: 15.2,
  // Probing at 20 ms: 59.8 us alone in a write, 14.5 us as one of ten, hence 9.5 for itself and 50.3 for the write. And 27 for
  // the row as a row of a list: 51.0 (probed at no delay) less the 23.9 of the engine as shipped.
  askedUs: 36.5,
  writeUs: 50.3,
  // A connection per address costs 111 to 168 us, a write included.
  sessionUs: 100,
  // A row alone in its write that was put off once: 461 us in the section on scaling, on a machine that is full, less 87 for
  // what is above. On one that is not it is 309.
  putOffUs: 370,
  // What a bulk process does with rows beside its check threads: 27 of 51 us.
  mainShare: 0.53,
  // Cached GET /v1/verify.
  requestUs: 10,
};

/** LIMITS.bulk.chunkRowsAtOnce and retryRowsAtOnce: a test holds it to them. */
export const ROWS_AT_ONCE = 6_144;

/** Memory for bodies of requests that are in one process at once: in all, and the part of it that one account may have. */
interface BodyBudgetLimits {
  bytes: number;
  /** Of `bytes`, the most that one account may hold. */
  share: number;
}

/** Bodies of requests while they come. */
export const BODY_LIMITS = {
  /**
   * Bodies that are collected. A team's share takes two of the largest inline lists, or one that came as gzip and was not
   * compressed by it; an address' share takes 64 bodies of the usual limit.
   */
  teams: { bytes: 67_108_864, share: 1 / 3 } as BodyBudgetLimits,
  strangers: { bytes: 16_777_216, share: 1 / 16 } as BodyBudgetLimits,
  /**
   * What came of bodies before it is known whether they are read: while a credential is looked up, or a rate token is awaited.
   * Of each at most what uWebSockets.js reads at once, 512 KiB: then the connection is paused. By client address.
   */
  unread: { bytes: 16_777_216, share: 1 / 4 } as BodyBudgetLimits,
  /**
   * A body may be `graceMs` behind `bytesPerS` at any time; then the request ends with 408. Time in which the connection is
   * paused by us does not count, nor more than twice `lookMs` between two looks: that is a process that was busy.
   * uWebSockets.js cuts off, without an answer, what comes slower than 16 KB/s for 10 s.
   */
  pace: { bytesPerS: 32_768, graceMs: 5_000, lookMs: 1_000 },
  /**
   * Of a JSON body, counted while it comes: nesting, names in objects, and values (of an array its items, of an object one
   * for each name). A route with a list says how many values its body may have.
   */
  json: { depth: 32, members: 500, values: 1_000 },
  /** A longer JSON body is parsed and validated, and a longer inline list analysed, off the event loop: in the request thread. */
  parsedHereBytes: 65_536,
  /** Of a body that is hashed for its idempotency key between two turns of the event loop. */
  hashedAtOnceBytes: 262_144,
  /** What is left of a refused body is read and dropped, so that its connection serves on, when it is at most so long. */
  droppedBytes: 65_536,
  /** Bytes of refused bodies that are read and dropped in one process: the largest inline list comes within `lingerMs` when it is alone. */
  drops: { bytesPerS: 16_777_216, tickMs: 20 },
} as const;

/** Memory for request bodies in one process: the total, and the maximum share of one account. */
interface BodyBudgetLimits {
  bytes: number;
  /** Maximum share of `bytes` for one account. */
  share: number;
}

/** Request bodies being received. */
export const BODY_LIMITS = {
  /**
   * Collected bodies. A team has two shares (`shareKey`): a third together. Each fits the largest inline list, also as gzip that
   * halves it; an address's share fits 64 bodies of the usual limit.
   */
  teams: { bytes: 100_663_296, share: 1 / 6 } as BodyBudgetLimits,
  unauthenticated: { bytes: 16_777_216, share: 1 / 16 } as BodyBudgetLimits,
  /**
   * Received parts of bodies before it is known whether they are read: during a credential look-up, or a wait for a rate
   * token. Each holds at most what uWebSockets.js reads at once, 512 KiB: then the connection is paused. By client address.
   */
  unread: { bytes: 16_777_216, share: 1 / 4 } as BodyBudgetLimits,
  /**
   * A body may be `graceMs` behind `bytesPerS` at any time; then the request ends with 408. Time while we pause the
   * connection does not count, nor more than twice `lookMs` between two checks: that is a busy process. uWebSockets.js
   * itself cuts off, without an answer, bodies slower than 16 KB/s for 10 s.
   */
  pace: { bytesPerS: 32_768, graceMs: 5_000, lookMs: 1_000 },
  /**
   * Limits of a JSON body, counted while it arrives: nesting, names in objects, and values (an array's items, and one for
   * each name of an object). A route with a list sets its own limit of values.
   */
  json: { depth: 32, members: 500, values: 1_000 },
  /** A longer JSON body is parsed and validated off the event loop: in the request thread. */
  parsedHereBytes: 65_536,
  /** Bytes of a body hashed for its idempotency key in one tick. */
  hashedAtOnceBytes: 262_144,
  /** The rest of a refused body up to this size is read and dropped, so that its connection stays usable. */
  droppedBytes: 65_536,
  /** Bytes of refused bodies that one process reads and drops: the largest inline list alone arrives within `lingerMs`. */
  drops: { bytesPerS: 16_777_216, tickMs: 20 },
} as const;

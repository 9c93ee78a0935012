/**
 * Answers over `LIMITS.http.bufferedBytes`, each held until its client has taken it. A share (`shareKey`) has room for three
 * pages of a hundred jobs with all the metadata that they may have (1.3 MB); the kept part has one for each of 23 shares, when
 * eight hold the rest. A client may be
 * `graceMs` behind `bytesPerS`, then its connection is closed: the time after which uWebSockets.js closes one that takes nothing.
 */
export const ANSWER_LIMITS = {
  bytes: 67_108_864,
  share: 1 / 16,
  keptShare: 1 / 2,
  littleBytes: 1_400_000,
  pace: { bytesPerS: 16_384, graceMs: 10_000, lookMs: 1_000 },
} as const;

/** Request bodies being received. */
export const BODY_LIMITS = {
  /**
   * Collected bodies. A team has two shares (`shareKey`): a third together. Each fits the largest inline list, also as gzip that
   * halves it, and the largest files of bounces that it may send at once; an address's share fits 64 bodies of the usual limit. The
   * kept part (`keptShare`) fits 80 teams with `littleBytes` each, or 64 addresses: it takes so many to keep another one out.
   */
  teams: { bytes: 125_829_120, share: 1 / 6, keptShare: 1 / 6, littleBytes: 262_144 },
  unauthenticated: {
    bytes: 16_777_216,
    share: 1 / 16,
    siteShare: 1 / 4,
    keptShare: 1 / 4,
    littleBytes: 65_536,
  },
  /** Bodies of routes that know their sender by a signature over the body: those of all other clients leave these alone. */
  signed: { bytes: 4_194_304, share: 1 / 4, siteShare: 1 / 4, keptShare: 1 / 4, littleBytes: 65_536 },
  /**
   * Received parts of bodies before it is known whether they are read: during a credential look-up, or a wait for a rate
   * token. Each holds at most what uWebSockets.js reads at once, 512 KiB: then the connection is paused. By client address.
   */
  unread: { bytes: 16_777_216, share: 1 / 4, siteShare: 1 / 2, keptShare: 1 / 4, littleBytes: 65_536 },
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

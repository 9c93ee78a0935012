/** Bounds of the self-check: queries about our own addresses, names and egress routes. */
export const SELF_CHECK_LIMITS = {
  /** Random share by which the interval between two runs varies; its mean is a setting. */
  jitter: 0.1,
  /** Egress routes checked at once. */
  routesAtOnce: 4,
  /** Time for one provider's exchanger: connection, greeting, EHLO, TLS. */
  greetMs: 10_000,
  /** DNS blocklists queried. */
  zones: 16,
  /** The part of a blocklist's reason that is reported. */
  codesReported: 4,
  textChars: 200,
  /** Addresses that servers see behind one egress route: those of a NAT pool. */
  addresses: 8,
  /** Maximum age of a seen address, of a failure that could not be checked again, and of a doubt. */
  rememberedMs: 86_400_000,
  /** Doubts of a route; the two oldest are merged. */
  doubts: 16,
  /** After an inconclusive check of something serious, and how often in a row. */
  retryMs: 60_000,
  retries: 5,
  /** The process that checks for its egress renews its lead after each route; longer than one takes. */
  leadMs: 60_000,
  /** The others read the report at this interval; at the shorter one while there is none. */
  followMs: 10_000,
  followFirstMs: 1_000,
  /** A starting process waits no longer for a shared report, which is kept for this long. */
  readMs: 500,
  sharedS: 86_400,
} as const;

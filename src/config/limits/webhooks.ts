/** The bounds of outbound webhooks: `LIMITS.webhooks`. */
export const WEBHOOK_LIMITS = {
  perTeam: 20,
  urlChars: 2_000,
  descriptionChars: 200,
  /** Random bytes of a signing secret. */
  secretBytes: 32,
  /** After a rotation deliveries are signed with the old secret too, for this long. */
  oldSecretMs: 86_400_000,
  /** Pings and redeliveries an hour, of a webhook and of a team: each is kept for `keptMs`. */
  manualPerHour: 120,
  manualPerTeamHour: 240,
  /** Webhooks that a team may create in an hour, deleted ones included. */
  createdPerHour: 60,
  /** Pending deliveries of one webhook; further ones are recorded as failed. */
  pendingPerWebhook: 1_000,
  /** Events, and with them their deliveries, are kept for this long. */
  keptMs: 30 * 86_400_000,
  prunedPerRound: 1_000,
  /** A webhook whose deliveries have all failed for this long is disabled. */
  failingMs: 5 * 86_400_000,
  /** A longer `Retry-After` is cut to this. */
  retryAfterMaxMs: 12 * 3_600_000,
  fanOutEveryMs: 250,
  eventsPerFanOut: 100,
  /** Interval of looking for due deliveries, and the shorter one after a delivery has ended. */
  dispatchEveryMs: 250,
  dispatchAgainMs: 20,
  /**
   * Concurrent attempts in one relay: in all, of all webhooks whose last attempt failed, of all teams' URLs of test jobs, of a team,
   * of a webhook, of a webhook whose last attempt failed or a team's URLs of test jobs.
   */
  inFlight: 256,
  inFlightRestricted: { failing: 128, test: 64 },
  inFlightPerTeam: 16,
  inFlightPerWebhook: 4,
  inFlightPerRestricted: 1,
  /** Webhooks examined in one round, in turn. */
  lanesPerRound: 500,
  /** Webhooks, and teams, whose last start a relay remembers. */
  turnsKept: 10_000,
  /** One attempt, from the name look-up to the response's header. */
  attemptMs: 15_000,
  /** Longer than `attemptMs` by the time to read a body and record the outcome. */
  leaseMs: 30_000,
  /** The lease doubles with each claim without an outcome, at most this often. */
  leaseDoublings: 5,
  /** Claims of one attempt without an outcome, because relays were killed, before the delivery is given up. */
  claimsMax: 30,
  responseHeaderBytes: 16_384,
  /** Size of a whole response with its header and interim responses. Beyond it the connection is closed. */
  responseBytes: 32_768,
  /** How long a response's body is read before the connection is closed. */
  responseBodyMs: 1_000,
  /** The first bytes of a response's body, as many as this, are kept with the delivery. */
  responseBodyKeptBytes: 1_024,
  /** Bytes that a receiver may send over TLS in all, handshake and certificates included. */
  tlsBytes: 131_072,
  /** From the connection to the end of the TLS handshake. */
  handshakeMs: 5_000,
  addressesTried: 4,
  /** Each address but the last. */
  connectMs: 2_000,
  backlogEveryMs: 15_000,
} as const;

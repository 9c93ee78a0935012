/** The bounds of outbound webhooks: `LIMITS.webhooks`. */
export const WEBHOOK_LIMITS = {
  perTeam: 20,
  urlChars: 2_000,
  descriptionChars: 200,
  /** Of the random part of a signing secret. */
  secretBytes: 32,
  /** After a rotation deliveries are signed with the old secret too, for this long. */
  oldSecretMs: 86_400_000,
  /** Pings and redeliveries that may be asked for in an hour, of a webhook and of a team: each is kept for `keptMs`. */
  manualPerHour: 120,
  manualPerTeamHour: 240,
  /** Webhooks that a team may make in an hour, those deleted since included. */
  createdPerHour: 60,
  /** Deliveries of one webhook that may wait; what comes on top is recorded as failed. */
  pendingPerWebhook: 1_000,
  /** Events, and with them their deliveries, are kept for this long. */
  keptMs: 30 * 86_400_000,
  prunedPerRound: 1_000,
  /** A webhook whose deliveries have all failed for this long is disabled. */
  failingMs: 5 * 86_400_000,
  /** A `Retry-After` beyond this is cut to it. */
  retryAfterMaxMs: 12 * 3_600_000,
  fanOutEveryMs: 250,
  eventsPerFanOut: 100,
  /** The dispatcher looks for due deliveries this often, and again so soon after one has ended. */
  dispatchEveryMs: 250,
  dispatchAgainMs: 20,
  /**
   * Attempts under way in one relay: in all, of all webhooks whose last attempt failed, of a team, of a webhook, of a
   * webhook whose last attempt failed.
   */
  inFlight: 256,
  inFlightFailing: 128,
  inFlightPerTeam: 16,
  inFlightPerWebhook: 4,
  inFlightPerFailing: 1,
  /** Webhooks looked at in one round, in turns. */
  lanesPerRound: 500,
  /** Webhooks, and teams, of which a relay remembers when it was their turn. */
  turnsKept: 10_000,
  /** One attempt, from the name look-up to the response's header. */
  attemptMs: 15_000,
  /** Beyond `attemptMs` by what it takes to read a body and to write down the outcome. */
  leaseMs: 30_000,
  /** The lease doubles with each claim that came to nothing, so often at most. */
  leaseDoublings: 5,
  /** Claims of one attempt that may come to nothing, relays being killed, before the delivery is given up. */
  claimsMax: 30,
  responseHeaderBytes: 16_384,
  /** Of a response in all, header and interim ones included; beyond it the connection is cut. */
  responseBytes: 32_768,
  /** How long a response's body is read, which nobody looks at, before the connection is cut. */
  responseBodyMs: 1_000,
  /** Of what a receiver sends over TLS in all, handshake and certificates included. */
  tlsBytes: 131_072,
  /** From the connection to the end of the TLS handshake. */
  handshakeMs: 5_000,
  addressesTried: 4,
  /** Each address but the last. */
  connectMs: 2_000,
  backlogEveryMs: 15_000,
} as const;

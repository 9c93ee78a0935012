import { BODY_LIMITS } from "./limits-bodies.ts";
import { BULK_LIMITS } from "./limits-bulk.ts";
import {
  CLIENT_LIMITS,
  PUBLIC_RATE_LIMITS,
  QUOTA_LIMITS,
  RATE_LIMITS,
  USAGE_LIMITS,
} from "./limits-counting.ts";
import {
  BREAKER_LIMITS,
  CHECK_LIMITS,
  DNS_LIMITS,
  LEARNT_LIMITS,
  NETWORK_LIMITS,
  SHAPING_LIMITS,
  SLOTS_LIMITS,
  SMTP_LIMITS,
} from "./limits-engine.ts";
import { HOUSE_LIMITS } from "./limits-house.ts";
import { KEY_LIMITS } from "./limits-keys.ts";
import { BELIEF_LIMITS, RECHECK_LIMITS, RECLASSIFY_LIMITS } from "./limits-learning.ts";
import { OBJECT_LIMITS } from "./limits-objects.ts";
import { MAIL_LIMITS, PORTAL_LIMITS } from "./limits-portal.ts";
import { RESULT_LIMITS, STREAM_LIMITS } from "./limits-results.ts";
import { TRACING_LIMITS } from "./limits-tracing.ts";
import { INCOMING_LIMITS, UPLOAD_LIMITS } from "./limits-uploads.ts";
import { WEBHOOK_LIMITS } from "./limits-webhooks.ts";

/** Every bound of the process that is not a setting: queues, buffers, retries and waits, each with its unit. */
export const LIMITS = {
  http: {
    emailBytes: 320,
    urlBytes: 8_192,
    headerBytes: 16_384,
    /** Of a route that says no other. */
    bodyBytes: 16_384,
    bodies: BODY_LIMITS,
    queryParameters: 32,
    /**
     * Queries of cached answers that are remembered as they were written, with the address in them: some 2 KB each, evidence
     * included, hence 32 MB where all are in use. Longer ones are not remembered.
     */
    readyQueries: 16_384,
    readyQueryChars: 512,
    /** Of the bodies drawn for them, a power of two: 1 KB each, one for each scope that asks. The oldest are drawn anew. */
    readyBodyBytes: 33_554_432,
    /** Header fields of such answers that are kept as bytes, one for each policy of limits: half a kilobyte each. */
    readyHeads: 1_000,
    validationIssues: 20,
    connections: 20_000,
    requestsInFlight: 10_000,
    /** Of an answer, what a connection may keep in memory for a slow client. */
    bufferedBytes: 65_536,
    streams: STREAM_LIMITS,
    incoming: INCOMING_LIMITS,
    /** Of the successes, and of the refusals, one in so many is logged; failures and slow requests always are. */
    logSampleEvery: 100,
    /** Of the successes, none is logged so soon after the last: a line takes 0.2 ms, of which 50 a second were 1 % of a busy core. */
    successQuietMs: 100,
    /** A refusal after none was logged for this long is logged too. */
    refusalQuietMs: 1_000,
    slowRequestMs: 1_000,
  },
  /**
   * The thread of an API process for large bodies, large inline lists and previews: tasks that wait or are under way, in all
   * and of a team, and of the first those kept for teams that have none; one that is not over after `taskMs` is given up, with its thread.
   */
  requestThread: { tasks: 32, tasksPerTeam: 8, tasksKept: 8, taskMs: 30_000, idleMs: 60_000, heapMb: 256 },
  dns: DNS_LIMITS,
  smtp: SMTP_LIMITS,
  slots: SLOTS_LIMITS,
  learnt: LEARNT_LIMITS,
  check: CHECK_LIMITS,
  testKeys: { slowMs: 3_000 },
  evidenceCache: {
    /** An entry in memory is looked up in Redis again after this: another process may have refreshed it. */
    memoryMs: 300_000,
    /**
     * Who holds an entry asks for it again after this, so that it stays among the latest used, and follows a clock that was
     * set. Of a thousand entries at full speed three in a hundred requests asked, at 500: 0.1 us of each.
     */
    holdMs: 2_000,
    /** Entries are at most a few kilobytes: so many in one answer of Redis, and in one write. */
    keysPerCall: 1_000,
    entriesPerWrite: 500,
    /** What entries in Redis have in common, known to a process: some 2 KB each, 5 at most. More than are looked for at once. */
    shapes: 8_192,
    /** It is sent again after this, should Redis have lost or dropped it; and lives that much longer than who needs it. */
    shapeAgainS: 60,
    /**
     * A process that reads by it says so to Redis after this, so that it stays among the latest used; and writes it back where it
     * is gone, for so long.
     */
    shapeToldMs: 30_000,
    shapeBackS: 86_400,
  },
  verify: {
    /**
     * As LIMITS.bulk.templates, of single requests: 2.7 MB, 10 MB where every domain has ten long host names, and 3.8 MB of
     * domains that are answered in several ways. Processes of the API are many, and what is asked about again is answered by the cache.
     */
    templates: { kept: 1_024, domains: 16_384, perDomain: 16 },
  },
  flights: {
    /** Of all checks under way, one team may have this share. */
    teamShare: 4,
    /** Who waits is answered `deadline` at most so late. */
    deadlineLateMs: 50,
    /** So long before a deadline what is known of the address besides is looked up, for the answer. */
    knownAheadMs: 200,
    /** By the wait for our own CPU: see services/verify/{admission,ceiling}.ts. */
    admission: {
      targetMs: 50,
      lookMs: 50,
      first: 256,
      least: 128,
      most: 8_192,
      restShare: 0.02,
      trim: 0.7,
      leastBusy: 12,
      youngMs: 500,
      growth: 1.5,
      slowGrowth: 1.1,
      growEveryMs: 100,
      growFrom: 0.75,
      calmMs: 2_000,
      looksBeyond: 50,
      looksLeast: 4,
      crowderMs: 1_000,
      settleMs: 200,
    },
  },
  rechecks: RECHECK_LIMITS,
  belief: BELIEF_LIMITS,
  reclassify: RECLASSIFY_LIMITS,
  readiness: { freshMs: 500, timeoutMs: 1_000 },
  network: NETWORK_LIMITS,
  house: HOUSE_LIMITS,
  tracing: TRACING_LIMITS,
  breaker: BREAKER_LIMITS,
  shaping: SHAPING_LIMITS,
  quota: QUOTA_LIMITS,
  usage: USAGE_LIMITS,
  rate: RATE_LIMITS,
  clients: CLIENT_LIMITS,
  publicRate: PUBLIC_RATE_LIMITS,
  keys: KEY_LIMITS,
  /** Disposable-domain overrides. */
  overrides: {
    domainsPerRequest: 500,
    domainChars: 253,
    /** Twice what so many of the longest domains take as A-labels. */
    bodyBytes: 262_144,
    /** More values are refused while the body comes: `domainsPerRequest`, and what else may be wrong with it. */
    bodyValues: 550,
    perTeam: 10_000,
    mergeEveryMs: 2_000,
    /** Of one team in one transaction: one event tells of so many at most. */
    mergeBatch: 1_000,
    mergeTeamsPerRound: 100,
    mergeRounds: 50,
    /** Domains that the event names; it counts them all. */
    eventDomains: 20,
    /** Of the operator, over all teams. */
    promoted: 100_000,
    /** After the promoted ones could not be read. */
    rereadMs: 1_000,
    operatorArguments: 1_000,
    operatorLines: 1_000,
  },
  team: {
    nameChars: 200,
    /** Of one team; invitations that are accepted count. */
    members: 500,
    /** Keys that are not revoked. */
    keys: 500,
    /** The latest revoked keys are kept, for questions about them. */
    revokedKeysKept: 100,
    s3Grants: 100,
    /** Deleting a team with all it has, below the silence after which a connection is given up. */
    deletionTimeoutMs: 10_000,
    /** Rows of a table that go at once before that, and how often: the rest goes with the team. */
    deletionBatch: 2_000,
    deletionBatches: 1_000,
    /** Tries, when others who hold rows of the team and wait for more of them deadlock with its deletion. */
    deletionAttempts: 5,
  },
  /** Deleting the objects of deleted teams. */
  removals: {
    everyMs: 1_000,
    perRound: 10,
    /** Longer than one sweep takes. A removal that a relay took and did not bring back is taken by another after this. */
    leaseMs: 300_000,
    /** Pages of one team in one turn, so that the smaller ones need not wait for all of the largest. */
    pagesPerTurn: 10,
    retryFirstMs: 5_000,
    retryMaxMs: 3_600_000,
    /** A second sweep, for what presigned uploads and processes that had not heard yet wrote after the first. */
    sweepAgainMs: 86_400_000,
  },
  billing: {
    /** One attempt at one call of Stripe's API, and further attempts after a failure that may pass. */
    callTimeoutMs: 10_000,
    callRetries: 1,
    /** Whoever subscribes is answered within this; no call is begun after it. */
    answerMs: 15_000,
    /** Above `answerMs` and all attempts at the last call. */
    claimLeaseMs: 60_000,
    claimPollMs: 100,
    /** Age, and lead, of a notification's timestamp. */
    signatureToleranceS: 300,
    signatures: 10,
    /** Of a notification, which holds the object that it is about, e.g. an invoice with its lines. */
    notificationBytes: 262_144,
    notificationMembers: 32_768,
    notificationValues: 65_536,
    /** Read at a time: of a customer at Stripe, of a team here. */
    subscriptions: 100,
    checkouts: 100,
    /** How far our clock and Stripe's may be apart before late events are taken for new ones. */
    clockSkewMs: 300_000,
    /** How far ahead of our clock Stripe's may be: an event that is dated later is not believed. */
    eventLeadS: 60,
    /** Of an address of Stripe's pages. */
    pageUrlChars: 8_192,
    rereadEveryMs: 1_000,
    /** Reads at once, and in turn until the next beat. */
    rereadLanes: 4,
    rereadsPerLane: 25,
    rereadLeaseMs: 300_000,
    rereadFirstMs: 2_000,
    rereadMaxMs: 3_600_000,
    /** Stripe repeats a notification for three days, and by hand for thirty. */
    eventsKeptMs: 35 * 86_400_000,
    pruneEveryMs: 3_600_000,
    prunedPerRound: 5_000,
    pruneRounds: 100,
  },
  bulk: BULK_LIMITS,
  results: RESULT_LIMITS,
  postgres: {
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 5_000,
    migrationTimeoutMs: 300_000,
    idleMs: 8_000,
    reconnectMaxMs: 500,
    /** A process that starts while Postgres is away looks so often whether it is there again, and says so often that it waits. */
    startPollMs: 500,
    startLogMs: 30_000,
    /**
     * So long it waits: longer than a fail-over takes. An orchestrator that starts again what ended (Kubernetes) waits as long
     * itself by then, and brings secrets as they are now.
     */
    startWaitMs: 300_000,
  },
  redis: {
    connectTimeoutMs: 2_000,
    commandTimeoutMs: 500,
    /**
     * What a command that blocks may take beyond its blocking. Nobody else waits for its connection, and what it brings too
     * late is nobody's until the lease is over: so long that a busy process is not taken for a silent Redis.
     */
    blockingGraceMs: 5_000,
    reconnectFirstMs: 50,
    reconnectMaxMs: 1_000,
  },
  objects: OBJECT_LIMITS,
  uploads: UPLOAD_LIMITS,
  supervisor: {
    readyWithinMs: 120_000,
    /** A role that ends sooner after its start than this has failed quickly. */
    quickFailureMs: 30_000,
    quickFailures: 5,
    restartFirstMs: 200,
    restartMaxMs: 5_000,
    /** Of the role that is never given up, once it has failed quickly more often than that. */
    restartSlowMs: 30_000,
    /** Past the grace the roles give themselves. */
    killAfterGraceMs: 3_000,
  },
  webhooks: WEBHOOK_LIMITS,
  idempotency: {
    keyChars: 255,
    keptMs: 86_400_000,
    /** A claim of a process that died is free again after this: longer than any request works. */
    leaseMs: 120_000,
    /** A team's latest that are remembered, in live and in test mode each. */
    perTeam: 10_000,
    /** So many more are held before the oldest go, all at once. */
    spare: 500,
    claimTimeoutMs: 3_000,
    /** How long an answer waits until it is kept; what could not be written is tried again behind it. */
    writeWaitMs: 1_000,
    writeBackoffMs: 250,
    writeBackoffMaxMs: 8_000,
    /** Of a process, that wait for their next try. */
    writesRepeated: 1_000,
    prunedPerRound: 5_000,
    pruneRounds: 20,
  },
  portal: PORTAL_LIMITS,
  mail: MAIL_LIMITS,
  relay: {
    everyMs: 1_000,
    reapRounds: 20,
    pruneEveryMs: 60_000,
    /** Teams that fail in one round of a chore before it gives up: it is not they, then. */
    teamFailures: 10,
    /** Items of a chore that failed lately and wait behind the others, in a process. */
    failingKept: 1_000,
  },
} as const;

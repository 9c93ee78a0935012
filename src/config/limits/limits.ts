import { ANSWER_LIMITS, BODY_LIMITS } from "./bodies.ts";
import { BULK_LIMITS } from "./bulk.ts";
import { CLIENT_LIMITS, PUBLIC_RATE_LIMITS, QUOTA_LIMITS, RATE_LIMITS, USAGE_LIMITS } from "./counting.ts";
import {
  BREAKER_LIMITS,
  CHECK_LIMITS,
  DNS_LIMITS,
  LEARNED_LIMITS,
  NETWORK_LIMITS,
  SHAPING_LIMITS,
  SLOTS_LIMITS,
  SMTP_LIMITS,
} from "./engine.ts";
import { FEEDBACK_LIMITS } from "./feedback.ts";
import { KEY_LIMITS } from "./keys.ts";
import { LEARNED_BEHAVIOUR_LIMITS, RECHECK_LIMITS, RECLASSIFY_LIMITS } from "./learning.ts";
import { OBJECT_LIMITS } from "./objects.ts";
import { MAIL_LIMITS, PORTAL_LIMITS } from "./portal.ts";
import { RESULT_LIMITS, STREAM_LIMITS } from "./results.ts";
import { SELF_CHECK_LIMITS } from "./self-check.ts";
import { TRACING_LIMITS } from "./tracing.ts";
import { INCOMING_LIMITS, UPLOAD_LIMITS } from "./uploads.ts";
import { WEBHOOK_LIMITS } from "./webhooks.ts";

/** Every bound of the process that is not a setting: queues, buffers, retries and waits, each with its unit. */
export const LIMITS = {
  http: {
    emailBytes: 320,
    urlBytes: 8_192,
    headerBytes: 16_384,
    /** Default of a route. */
    bodyBytes: 16_384,
    bodies: BODY_LIMITS,
    answers: ANSWER_LIMITS,
    queryParameters: 32,
    /** Queries of a route remembered as written, with their validated input: half a kilobyte each. Longer ones are not. */
    rememberedQueries: 16_384,
    rememberedQueryChars: 512,
    /** Heads of answers kept as bytes, one for each policy of limits: half a kilobyte each. */
    headTemplates: 1_000,
    validationIssues: 20,
    connections: 20_000,
    requestsInFlight: 10_000,
    /** The most of an answer that a connection buffers for a slow client. */
    bufferedBytes: 65_536,
    streams: STREAM_LIMITS,
    incoming: INCOMING_LIMITS,
    /** One in this many successes and refusals is logged. Failures and slow requests are always logged. */
    logSampleEvery: 100,
    /** Minimum interval between two logged successes: a line takes 0.2 ms, and 50 a second were 1 % of a busy core. */
    successQuietMs: 100,
    /** After this long without a logged refusal the next one is logged too. */
    refusalQuietMs: 1_000,
    slowRequestMs: 1_000,
  },
  /**
   * The API's thread for large bodies, inline lists and long lists of domains: waiting and running tasks, in all and
   * of one share (`shareKey`), and tasks reserved for shares that have none. A task that runs longer than `taskMs` is given up, with its
   * thread.
   */
  requestThread: { tasks: 64, tasksPerShare: 16, tasksKept: 16, taskMs: 30_000, idleMs: 60_000, heapMb: 256 },
  /**
   * The thread that parses bounce files: seconds each, so few tasks of one share may wait for it. The largest honest files of
   * `eventsPerTeamDay` take 15 s of CPU, a minute on a node that is overloaded fourfold.
   */
  feedbackThread: {
    ...{ tasks: 32, tasksPerShare: 2, tasksKept: 16 },
    ...{ taskMs: 30_000, shareMsPerDay: 120_000, idleMs: 60_000, heapMb: 192 },
  },
  /**
   * The thread that reads uploads for previews, which waits for object storage meanwhile. LIMITS.uploads.previews bounds its tasks.
   * 8 MiB of a sheet with 8 MiB of strings take less than 24 MB; a workbook made to fill its heap, by 15 MiB of relationships, takes
   * twice the time in 64 MB.
   */
  previewThread: { tasks: 16, tasksPerShare: 16, tasksKept: 0, taskMs: 30_000, idleMs: 60_000, heapMb: 96 },
  dns: DNS_LIMITS,
  smtp: SMTP_LIMITS,
  slots: SLOTS_LIMITS,
  learned: LEARNED_LIMITS,
  check: CHECK_LIMITS,
  testKeys: { slowMs: 3_000 },
  evidenceCache: {
    /** An entry in memory is looked up in Redis again after this: another process may have refreshed it. */
    memoryMs: 300_000,
    /** Entries are at most a few kilobytes: this many in one answer of Redis, and in one write. */
    keysPerCall: 1_000,
    entriesPerWrite: 500,
    /**
     * Number of facts of domains, and of findings, that a process caches of those shared in Redis: some 600 bytes each.
     * More than one look-up needs.
     */
    parts: 8_192,
    /** They are sent again after this, in case Redis lost or dropped them; and live that much longer than their entries. */
    partRefreshS: 60,
    /**
     * A process that uses a shared part refreshes it in Redis after `partRefreshMs`, so that it stays recently used. A missing
     * part is written back with a time to live of `partRestoreS`.
     */
    partRefreshMs: 30_000,
    partRestoreS: 86_400,
  },
  verify: {
    /**
     * Like LIMITS.bulk.templates, for single requests: 2.7 MB, 10 MB where every domain has ten long host names, and 3.8 MB
     * of domains with several kinds of answers. The API has many processes, and repeated requests are answered by the
     * cache.
     */
    templates: { templates: 1_024, domains: 16_384, perDomain: 16 },
    /** Addresses whose answers from the cache are kept as they are sent: some 3 KB each, hence 50 MB where all are in use. */
    cachedAnswers: 16_384,
  },
  inFlightChecks: {
    /** Maximum share of all checks in progress for one team. */
    teamShare: 4,
    /** A waiter gets its `deadline` answer at most this late. */
    deadlineLateMs: 50,
    /** This long before a deadline the other facts about the address are looked up, for the answer. */
    knownAheadMs: 200,
    /** By the wait for our own CPU: see features/verify/checks/. */
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
      heavyTeamMs: 1_000,
      settleMs: 200,
    },
  },
  rechecks: RECHECK_LIMITS,
  learnedBehaviour: LEARNED_BEHAVIOUR_LIMITS,
  reclassify: RECLASSIFY_LIMITS,
  readiness: { freshMs: 500, timeoutMs: 1_000 },
  network: NETWORK_LIMITS,
  selfCheck: SELF_CHECK_LIMITS,
  tracing: TRACING_LIMITS,
  breaker: BREAKER_LIMITS,
  shaping: SHAPING_LIMITS,
  quota: QUOTA_LIMITS,
  usage: USAGE_LIMITS,
  rate: RATE_LIMITS,
  clients: CLIENT_LIMITS,
  publicRate: PUBLIC_RATE_LIMITS,
  keys: KEY_LIMITS,
  /** Checks of an engine without a server, of those that ask for many. */
  verifier: { atOnce: 256, listBytes: 67_108_864, lineBytes: 65_536 },
  /** Breakers, and sites with fewer connections, in one answer to the operator's team. */
  operator: { listed: 100 },
  /** Disposable-domain overrides. */
  overrides: {
    domainsPerRequest: 500,
    /** A request with more is read in the request thread: 500 take 6 to 17 ms. */
    domainsReadHere: 50,
    domainChars: 253,
    /** Twice the size of this many of the longest domains as A-labels. */
    bodyBytes: 262_144,
    /** More values are refused while the body arrives: `domainsPerRequest`, and some for its other errors. */
    bodyValues: 550,
    perTeam: 10_000,
    mergeEveryMs: 2_000,
    /** Domains of one team merged in one transaction. One event reports at most this many. */
    mergeBatch: 1_000,
    mergeTeamsPerRound: 100,
    mergeRounds: 50,
    /** Domains that the event names; it counts them all. */
    eventDomains: 20,
    /** Domains that the operator promoted for all teams. */
    promoted: 100_000,
    /** Before promoted domains are read again after a failure. */
    rereadMs: 1_000,
    operatorArguments: 1_000,
    operatorLines: 1_000,
  },
  team: {
    nameChars: 200,
    /** Members of one team. Accepted invitations count. */
    members: 500,
    /** Unrevoked keys. */
    keys: 500,
    /** Latest revoked keys that are kept, for questions about them. */
    revokedKeysKept: 100,
    s3Grants: 100,
    /** Deleting a team with all its data: below the silence after which a connection is given up. */
    deletionTimeoutMs: 10_000,
    /** Rows of a table deleted at once before that, and number of repetitions: the rest is deleted with the team. */
    deletionBatch: 2_000,
    deletionBatches: 1_000,
    /** Attempts, when concurrent transactions with locks on the team's rows deadlock with its deletion. */
    deletionAttempts: 5,
  },
  /** Deleting the objects of deleted teams. */
  removals: {
    everyMs: 1_000,
    perRound: 10,
    /** Longer than one sweep takes. Another relay takes a removal that was not finished after this. */
    leaseMs: 300_000,
    /** Pages of one team at a time, so that smaller teams need not wait for the whole of the largest. */
    pagesPerTurn: 10,
    retryFirstMs: 5_000,
    retryMaxMs: 3_600_000,
    /** A second sweep, for objects that presigned uploads and uninformed processes wrote after the first. */
    sweepAgainMs: 86_400_000,
  },
  billing: {
    /** One attempt at one call of Stripe's API, and further attempts after a temporary failure. */
    callTimeoutMs: 10_000,
    callRetries: 1,
    /** A subscription request is answered within this; no call starts after it. */
    answerMs: 15_000,
    /** Longer than `answerMs` and all attempts at the last call. */
    claimLeaseMs: 60_000,
    claimPollMs: 100,
    /** Maximum age, and lead, of a notification's timestamp. */
    signatureToleranceS: 300,
    signatures: 10,
    /** Size of a notification. It contains its object, e.g. an invoice with its lines. */
    notificationBytes: 262_144,
    notificationMembers: 32_768,
    notificationValues: 65_536,
    /** Read at a time: of a customer at Stripe, of a team here. */
    subscriptions: 100,
    checkouts: 100,
    /** Maximum difference of our clock and Stripe's: a larger one would take late events for new ones. */
    clockSkewMs: 300_000,
    /** Maximum lead of Stripe's clock: a later event is not accepted. */
    eventLeadS: 60,
    /** Length of a URL of Stripe's pages. */
    pageUrlChars: 8_192,
    rereadEveryMs: 1_000,
    /** Concurrent reads, and consecutive ones until the next interval. */
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
  feedback: FEEDBACK_LIMITS,
  bulk: BULK_LIMITS,
  results: RESULT_LIMITS,
  postgres: {
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 5_000,
    migrationTimeoutMs: 300_000,
    /** Longest wait of a transaction for earlier ones of its team: as long as a statement may take. */
    teamWaitMs: 5_000,
    /** Reads of the API under way: this part of the connections (DATABASE_MAX_CONNECTIONS), half of it for one share. */
    readsPart: 0.6,
    /** Longest wait of a read for its turn: as long as a statement may take. */
    readWaitMs: 5_000,
    /**
     * Reads of the API under way or waiting, in a process and of one share (`shareKey`) there, and those kept for shares that have
     * none. A share has more than the largest burst of reads that a tier allows (`readsBurst`), so that its rate is what bounds
     * it; beside both shares of a team, others have 512 that are not kept.
     */
    readSlots: { all: 8_192, perShare: 2_560, kept: 2_560 },
    idleMs: 8_000,
    reconnectMaxMs: 500,
    /** Interval at which a process that starts while Postgres is away tries again, and at which it logs that it waits. */
    startPollMs: 500,
    startLogMs: 30_000,
    /**
     * How long it waits: longer than a fail-over takes. An orchestrator that restarts processes (Kubernetes) waits as long
     * itself by then, and provides current secrets.
     */
    startWaitMs: 300_000,
  },
  redis: {
    connectTimeoutMs: 2_000,
    commandTimeoutMs: 500,
    /**
     * Time that a blocking command may take beyond its blocking time, before Redis counts as silent. Entries that arrive
     * too late are lost until their lease ends, so it must bridge the pauses of a busy process.
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
    /** For the role that is never given up, once it has failed quickly more often than that. */
    restartSlowMs: 30_000,
    /** Past the grace period that the roles give themselves. */
    killAfterGraceMs: 3_000,
  },
  webhooks: WEBHOOK_LIMITS,
  idempotency: {
    keyChars: 255,
    keptMs: 86_400_000,
    /** A claim of a dead process is free again after this: longer than any request takes. */
    leaseMs: 120_000,
    /** A team's latest keys that are remembered, in live and in test mode each. */
    perTeam: 10_000,
    /** Keys held beyond that, before the oldest are removed all at once. */
    spare: 500,
    /**
     * Part of the claims that count the team's keys first, which takes 1.6 ms of Postgres where all are held; so some 16 more
     * may be held.
     */
    countedPart: 1 / 16,
    claimTimeoutMs: 3_000,
    /** How long an answer waits to be stored; a failed write is retried after it. */
    writeWaitMs: 1_000,
    writeBackoffMs: 250,
    writeBackoffMaxMs: 8_000,
    /** Failed writes of a process that wait for their next attempt. */
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
    /** Teams that fail in one round of a periodic task before it gives up: the teams are then not the cause. */
    teamFailures: 10,
    /** Recently failed items of a periodic task that wait behind the others, in a process. */
    failingKept: 1_000,
  },
} as const;

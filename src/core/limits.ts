/** Every bound of the process that is not a setting: queues, buffers, retries and waits, each with its unit. */
export const LIMITS = {
  http: {
    emailBytes: 320,
    urlBytes: 8_192,
    headerBytes: 16_384,
    bodyBytes: 1_048_576,
    /** Bodies being collected, all together. */
    bodyBytesInFlight: 67_108_864,
    jsonDepth: 32,
    queryParameters: 32,
    validationIssues: 20,
    connections: 20_000,
    requestsInFlight: 10_000,
    /** Of the successes, and of the refusals, one in so many is logged; failures and slow requests always are. */
    logSampleEvery: 100,
    /** A refusal after none was logged for this long is logged too. */
    refusalQuietMs: 1_000,
    slowRequestMs: 1_000,
  },
  dns: {
    attemptTimeoutMs: 2_000,
    attempts: 3,
    socketsPerThread: 4,
    /** Look-ups that were just sent, per socket: their answers must find room in its buffer. */
    inFlightPerSocket: 100,
    /** While others wait, who got no answer in this time counts among the slow. */
    freshMs: 50,
    /** Look-ups that are slow or ask again: two for each of the tasks a thread may have. */
    slow: 8_192,
    waiting: 20_000,
    /** Longest wait for a place: far below a request's deadline, and enough for all of `slow` to be asked once. */
    waitMs: 1_200,
    /** A UDP socket, hence its random port, is left after so many queries or this time. */
    socketQueries: 64,
    socketAgeMs: 5_000,
    /** Sockets that were left and still wait for answers. */
    socketsDraining: 64,
    /** A server that changed the case of the question so often in a row is asked in lower case for `plainCaseMs`. */
    caseLosses: 3,
    plainCaseMs: 600_000,
    cacheEntries: 50_000,
    ttlMinS: 5,
    ttlMaxS: 86_400,
    negativeTtlDefaultS: 60,
    negativeTtlMaxS: 3_600,
    answerRecords: 200,
    /** EDNS0: what passes any path unfragmented. */
    udpPayloadBytes: 1_232,
    cnameHops: 8,
    /** Failures are remembered no longer than this. */
    failureTtlMs: 5_000,
    /** Records over all cached answers: a bound of memory, whatever strangers put into their zones. */
    cacheRecords: 200_000,
  },
  smtp: {
    connectTimeoutMs: 5_000,
    greetingTimeoutMs: 15_000,
    commandTimeoutMs: 15_000,
    /** Short, so that with opportunistic TLS the way in clear is still open within a request's deadline. */
    tlsTimeoutMs: 4_000,
    quitTimeoutMs: 1_000,
    localPartBytes: 64,
    domainBytes: 255,
    /** Forward and reverse path with their angle brackets. */
    pathBytes: 256,
    replyLineBytes: 4_096,
    replyLines: 128,
    replyBytes: 65_536,
    idleSessionMs: 5_000,
    sessionsPerThread: 2_000,
    waitersPerHost: 10_000,
    hostsTried: 3,
    addressesTriedPerHost: 2,
    sessionRetries: 1,
    /** How often a transaction goes back to the queue because a session broke before its turn. */
    requeues: 5,
    probeBudgetMs: 30_000,
    slotWaitMs: 30_000,
    slotWaiters: 10_000,
    pipelineDepthMax: 10,
    /** Deadlines, cancellations and idle sessions are looked at this often. */
    sweepMs: 100,
    /** A session in use that others wait for is given up once it is this old: time slices, not thrashing. */
    slotTenureMs: 1_000,
    /** After a further slot was refused, the next try. */
    growRetryMs: 250,
    /** After the server refused a further connection beside working ones, the next try. */
    growBackoffMs: 5_000,
    /** What was learnt of a host (depth, broken TLS) outlives its last session by this. */
    hostMemoryMs: 60_000,
    hosts: 20_000,
  },
  /** Connection slots shared by the processes of an egress. */
  slots: {
    /** What a process holds is free again when it has said nothing for this long. */
    leaseTtlMs: 6_000,
    renewEveryMs: 2_000,
    /** A slot that nobody used for this long, twice it at most, goes back. */
    idleMs: 1_000,
    beatMs: 250,
    /** Who stands in line asks again, and has left the line when it did not for `lineTtlMs`. */
    askEveryMs: 500,
    lineTtlMs: 2_000,
    /** For as long as a holder may keep a session that others wait for, it is not told again. */
    announceEveryMs: 1_000,
    /** After a refusal nobody who would not wait asks the store again. */
    refusalMs: 250,
    /** Slots of a site that a process which holds none takes by itself while the store does not answer. */
    alone: 1,
    aloneMs: 500,
    sitesPerCall: 100,
  },
  check: {
    tasksInFlight: 8_192,
    tasksPerThread: 4_096,
    catchAllFacts: 50_000,
    catchAllPerThread: 5_000,
    catchAllPerThreadMs: 60_000,
    /** The stranger's share of a check's budget: the answer about the real address is there already. */
    catchAllBudgetMs: 5_000,
    countsEveryMs: 500,
    /** Before normalisation: room for escapes and U-labels around the 254 octets of a path. */
    addressChars: 1_024,
    /** What classification reads of a reply; real ones end long before. */
    replyMatchedChars: 4_096,
    replyTextChars: 300,
    mxHosts: 100,
    mxHostsReported: 10,
  },
  testKeys: { slowMs: 3_000 },
  evidenceCache: {
    /** An entry in memory is looked up in Redis again after this: another process may have refreshed it. */
    memoryMs: 300_000,
  },
  flights: {
    /** Of all checks under way, one team may have this share. */
    teamShare: 4,
  },
  readiness: { freshMs: 500, timeoutMs: 1_000 },
  network: {
    windowS: 60,
    suspicion: 4,
    sitesRemembered: 64,
    reachedRemembered: 4,
    trialEveryMs: 3_000,
    trialDials: 8,
    trialDialMs: 2_500,
  },
  breaker: { blocksToOpen: 5, openMs: 300_000, sitesRemembered: 10_000 },
  quota: {
    /** A lease that its process has not renewed for this long is settled by whoever finds it. */
    leaseTtlMs: 10_000,
    /** A lease gives units out for this long, then the rest goes back: what is left is shared anew. */
    leaseUseMs: 5_000,
    /** A lease nobody took a unit of for this long goes back. */
    idleReturnMs: 1_500,
    flushEveryMs: 200,
    /** Flushed leases are renewed at least this often. */
    renewEveryMs: 2_000,
    leaseFirst: 4,
    leaseMax: 5_000,
    /** Spends that a lease may not yet have told the ledger of: what a killed process costs at most. */
    trancheMax: 1_000,
    /** A lease ahead of need is at most this share of what is left of the day, hence 1 near the limit. */
    leaseShare: 64,
    /** How long a refusal by the ledger is believed without asking again. */
    refusalMs: 500,
    ledgerTimeoutMs: 2_000,
    /** After the ledger failed a team, its requests are refused for this long without asking again. */
    failureMs: 250,
    releasesAtOnce: 100,
    waitersPerTeam: 1_000,
    /** A request that waits for a unit is turned away after this long: several rounds to the ledger, if it is slow. */
    waitMs: 3_000,
    teams: 20_000,
    leasesReapedPerRound: 500,
  },
  rate: {
    leaseMax: 500,
    leaseTtlMs: 250,
    /** A lease is at most what the sustained rate makes in this time. */
    leaseSpanMs: 100,
    refusalMaxMs: 1_000,
    waitersPerBucket: 1_000,
    buckets: 20_000,
    /** After Redis failed, the process keeps the rate alone for this long before it asks again. */
    aloneMs: 500,
  },
  keys: {
    cacheEntries: 100_000,
    confirmMs: 1_000,
    pollMs: 400,
    negativeEntries: 10_000,
    negativeMs: 1_000,
    /** How long the Redis bus alone may vouch for cached keys while Postgres does not answer. */
    busOnlyMs: 60_000,
    lookupsInFlight: 1_000,
    /** Below confirmMs: who joins a look-up under way must not be told an older state than a cache may. */
    lookupTimeoutMs: 900,
    /** Changes read in one poll; when there are more, the whole cache is dropped instead. */
    changesPerPoll: 1_000,
    changesKeptMs: 3_600_000,
    lastUsedEveryMs: 60_000,
    lastUsedBatch: 5_000,
    blocklistEntriesPerTeam: 10_000,
    sessionTtlMs: 30 * 86_400_000,
  },
  postgres: {
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 5_000,
    migrationTimeoutMs: 300_000,
    idleMs: 8_000,
    reconnectMaxMs: 500,
  },
  redis: { connectTimeoutMs: 2_000, commandTimeoutMs: 500, reconnectFirstMs: 50, reconnectMaxMs: 1_000 },
  objects: { connectTimeoutMs: 2_000, requestTimeoutMs: 30_000, attempts: 3, sockets: 64 },
  supervisor: {
    readyWithinMs: 120_000,
    /** A role that ends sooner after its start than this has failed quickly. */
    quickFailureMs: 30_000,
    quickFailures: 5,
    restartFirstMs: 200,
    restartMaxMs: 5_000,
    /** Past the grace the roles give themselves. */
    killAfterGraceMs: 3_000,
  },
  relay: { everyMs: 1_000, reapRounds: 20, pruneEveryMs: 60_000 },
} as const;

/** Bounds of the check engine: look-ups, sessions, slots, checks and learned behaviour of sites. */

export const DNS_LIMITS = {
  attemptTimeoutMs: 2_000,
  attempts: 3,
  socketsPerThread: 4,
  /** Recent look-ups per socket: their answers must fit into its buffer. */
  inFlightPerSocket: 100,
  /** While others wait, a look-up without an answer in this time counts as slow. */
  freshMs: 50,
  /** Look-ups that are slow or ask again: two for each of the tasks a thread may have. */
  slow: 8_192,
  waiting: 20_000,
  /** Best-effort look-ups. They take no slots of the others, so this may be small compared to `slow`. */
  bestEffortInFlight: 512,
  /** Longest wait for a slot: far below a request's deadline, and enough for all of `slow` to be asked once. */
  waitMs: 1_200,
  /** A UDP socket, hence its random port, is retired after this many queries or this time. */
  socketQueries: 64,
  socketAgeMs: 5_000,
  /** Retired sockets that still wait for answers. */
  socketsDraining: 64,
  /** A server that changed the case of the question this often in a row is asked in lower case for `lowerCaseMs`. */
  caseMismatches: 3,
  lowerCaseMs: 600_000,
  cacheEntries: 50_000,
  ttlMinS: 5,
  ttlMaxS: 86_400,
  negativeTtlDefaultS: 60,
  negativeTtlMaxS: 3_600,
  answerRecords: 200,
  /** EDNS0: passes any path unfragmented. */
  udpPayloadBytes: 1_232,
  cnameHops: 8,
  /** Failures are cached no longer than this. */
  failureTtlMs: 5_000,
  /** Records over all cached answers: bounds the memory, whatever zones contain. */
  cacheRecords: 200_000,
} as const;

export const SMTP_LIMITS = {
  connectTimeoutMs: 5_000,
  /**
   * The next address of a host is dialled beside one that has not connected after this (RFC 8305 §8); this many in all on
   * one slot.
   */
  nextAddressMs: 250,
  addressesAtOnce: 4,
  /** How long the addresses of a proxy given by name are cached. */
  proxyNameMs: 60_000,
  greetingTimeoutMs: 15_000,
  commandTimeoutMs: 15_000,
  /** Short, so that with opportunistic TLS there is still time for clear text within a request's deadline. */
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
  /** Exchangers of a domain, as Postfix and Exim do; addresses of each in both families, and attempts of one probe in all. */
  hostsTried: 5,
  addressesTriedPerHost: 8,
  attemptsPerProbe: 12,
  /** After a first reply, the probe of a request tries other addresses and exchangers for a better one this long. */
  interactiveFailOverMs: 3_000,
  sessionRetries: 1,
  /** How often a transaction returns to the queue because a session broke before reaching it. */
  requeues: 5,
  probeBudgetMs: 30_000,
  slotWaitMs: 30_000,
  slotWaiters: 10_000,
  pipelineDepthMax: 10,
  /** Interval of checking deadlines, cancellations and idle sessions. */
  sweepMs: 100,
  /**
   * The same for jobs without a deadline, such as bulk rows: a cancelled one keeps its place in the queue of its site for
   * as long.
   */
  patientSweepMs: 1_000,
  /** A busy session that others wait for is closed once it is this old: time slices, not thrashing. */
  slotTenureMs: 1_000,
  /** Before the next attempt after a further slot was refused. */
  growRetryMs: 250,
  /** Before the next attempt after the server refused a further connection beside working ones. */
  growBackoffMs: 5_000,
  /** The state of a host (depth, broken TLS) outlives its last session by this. */
  hostMemoryMs: 60_000,
  hosts: 20_000,
  /** Hosts of a site examined to estimate how much its sessions take at once. */
  hostsSampledForDepth: 8,
} as const;

/** Limits that servers teach by failing: pipeline depth, transactions and rejections of a session, connections. */
export const LEARNED_LIMITS = {
  /** A little more than is known to work is tried after this, twice as long after each failed trial. */
  holdMs: 60_000,
  holdMaxMs: 3_600_000,
  /**
   * While nothing has failed, one session tries more than is known to work; another one if that shows nothing for this
   * long.
   */
  eagerMs: 1_000,
  /** For a session that no server and no setting limits. */
  sessionTransactionsMax: 10_000,
  sessionRejectionsMax: 1_000,
  /** Before the next trial after a successful one. */
  stepMs: 10_000,
  /** A reply this late in a session that was fast before starts a tarpit. */
  slowReplyMs: 1_000,
  /** No tarpit starts before this many rejections. */
  slowFromRejections: 3,
  /** Learned limits of a site are kept for this long after its last session. */
  memoryMs: 3_600_000,
  /** Remembered sites; the longest unused go first. */
  sites: 5_000,
  /** Minimum interval between two reports of too many connections at a site: one burst of refusals is one event. */
  crowdedEveryMs: 1_000,
  /** How often a job that met too many connections at a transaction is queued again. */
  crowdedTries: 2,
  /**
   * How often in a row a thread whose sessions are all refused takes a connection over from another one for its requests: a
   * server may count a connection for some milliseconds after its end.
   */
  crowdedTakeOvers: 2,
  /**
   * When no session at a site works, opening is retried after `crowdedWaitMs`, then less and less often. After
   * `crowdedPatienceMs` in all it is given up.
   */
  crowdedWaitMs: 1_000,
  crowdedPatienceMs: 10_000,
  /** A cap in full use without trouble for this long grows by one. */
  raiseEveryMs: 10_000,
} as const;

/** Connection slots shared by the processes of an egress. */
export const SLOTS_LIMITS = {
  /** Slots of a process without a sign of life for this long are free again. */
  leaseTtlMs: 6_000,
  renewEveryMs: 2_000,
  /** A slot unused for this long, at most twice, is released. */
  idleMs: 1_000,
  intervalMs: 250,
  /** A waiter asks again at this interval, and leaves the queue when it did not for `queueTtlMs`. */
  askEveryMs: 500,
  queueTtlMs: 2_000,
  /** For as long as a holder may keep a session that others wait for, it is not notified again. */
  announceEveryMs: 1_000,
  /** After a refusal, requests that do not wait do not ask the store again for this long. */
  refusalMs: 250,
  /** Slots of a site that a process without one takes by itself while the store does not answer. */
  slotsWithoutStore: 1,
  storeRetryMs: 500,
  /** A failure after this long was a timeout, perhaps caused by our own stall; an unreachable Redis fails at once. */
  missedMs: 250,
  sitesPerCall: 100,
  /** Redis key names of sites that a process caches. */
  keysKept: 4_096,
  /** A slot passed from one thread to another has arrived by then: tenure, a batch, QUIT. */
  handoverMs: 3_000,
  /**
   * For this long no thread gets more than its share of a new site, as long as a connection takes to open. In the tick that
   * starts a few hundred new domains, 20 to 100 ms, requests are reported only at its end.
   */
  fairStartMs: 100,
} as const;

export const CHECK_LIMITS = {
  /** Addresses: a batch counts those in progress. */
  tasksInFlight: 8_192,
  /** Addresses of one batch: those of a whole retry (`rowsPerLargeChunk`), so that a slow one delays no others. */
  batchAddresses: 4_000,
  /** Interval at which a thread that runs batches checks for new or cancelled ones. */
  haltPollMs: 50,
  /** The same where it runs only those that wait for slow servers: unlike a chunk's, their end is not urgent. */
  patientHaltPollMs: 250,
  /**
   * A thread's cache of domain plans, and its lifetime: shorter than any TTL we accept. With their servers' replies, at
   * most 10 KB each (`ReplyReadings`), that is 50 MB at worst.
   */
  plans: 5_000,
  planKeptMs: 4_000,
  catchAllFacts: 50_000,
  catchAllPerThread: 5_000,
  catchAllPerThreadMs: 60_000,
  /** The catch-all probe's share of a check's budget: the answer about the real address exists already. */
  catchAllBudgetMs: 5_000,
  countsEveryMs: 500,
  /** A thread's messages to the main thread that are not urgent are gathered for at most this long. */
  gatherMs: 100,
  /** Halves of evidence that a thread keeps by their texts, so that addresses share them: some 600 bytes each. */
  factsKept: 6_000,
  findingsKept: 6_000,
  /** Findings with which a domain's facts are shared as one object. */
  findingsPerFacts: 64,
  /**
   * Domain names read recently, cached in each thread that reads addresses (one per process): room for the 100 000 domains
   * of a long list. Longer names are not cached, which costs a row some 5 µs. A full cache took 124 bytes for a name of 18
   * characters, 164 for 64, and 245 when written in capitals, indexes of other modules included.
   */
  domainNames: 131_072,
  domainNameChars: 64,
  /** Before normalisation: room for escapes and U-labels around the 254 octets of a path. */
  addressChars: 1_024,
  /** A text that addresses are extracted from: some hundred of them, or a paragraph. */
  cellChars: 16_384,
  /** The part of a reply that classification reads; real ones end long before. */
  replyMatchedChars: 4_096,
  /** The part of a reply that evidence keeps: more than real ones contain, so that it can be classified again. */
  replyTextChars: 1_000,
  mxHosts: 100,
  mxHostsReported: 10,
  /** A domain with more exchangers is never `mx_unresolvable`: they are not all looked up. */
  mxHostsProven: 20,
  /** After the MX answer, a verification waits no longer than this for SPF, DMARC and blocklists. */
  domainSignalsMs: 500,
  /** Findings about a domain are shared for this long; then the DNS cache is asked again. */
  domainSignalsKeptMs: 10_000,
  domainSignalsKept: 2_000,
} as const;

export const NETWORK_LIMITS = {
  windowS: 60,
  suspicion: 4,
  sitesRemembered: 64,
  reachedRemembered: 4,
  /** A dial without an answer for this long is suspicious: longer than any common round trip. Checked every `smtp.sweepMs`. */
  silentMs: 200,
  /** Minimum interval at which a thread reports a site's silence, and a route's successes at `reachedRemembered` sites. */
  silentEveryMs: 500,
  reachedEveryMs: 1_000,
  /** Sentinels dialled at once, for how long, and at how many sites they must be for their silence to prove anything. */
  sentinels: 8,
  sentinelDialMs: 550,
  sentinelSites: 2,
  /** After an acquittal sentinels are not dialled for this long, twice as long each time, up to the longer one. */
  coolMs: 250,
  coolMaxMs: 4_000,
  trialEveryMs: 3_000,
  trialDials: 8,
  trialDialMs: 2_500,
} as const;

/** Circuit breakers: when a site blocks us, and when to try again. The first pause is a setting. */
export const BREAKER_LIMITS = {
  /** In a row. */
  blocksToOpen: 5,
  /** Or this many of the last answers. */
  blocksInWindow: 10,
  window: 20,
  /** Older answers no longer count. */
  answersKeptMs: 600_000,
  /** Domains that must block us at RCPT before a provider counts as blocking us: one customer may own several. */
  domainsOfProvider: 5,
  /** The same for a site that is not known to have many customers. */
  domainsOfSite: 2,
  /** Twice as long after each blocked trial, up to this, plus some jitter. */
  maxMs: 900_000,
  jitter: 0.1,
  /** Timeout of a trial; after the longer one its owner is given up and another trial may start. */
  trialMs: 60_000,
  trialTtlMs: 90_000,
  /** Minimum interval at which a thread asks again during a trial; and the wait of a parked row. */
  trialWaitMs: 2_000,
  parkedTrialMs: 10_000,
  /** A breaker is dropped when no probe wanted the route for this long after the trial was due. */
  forgetMs: 3_600_000,
  sweepMs: 60_000,
  /** Closed breakers with remembered blocks, the longest untouched go first; and open ones, the oldest first. */
  ways: 10_000,
  openWays: 10_000,
  /** Minimum interval of look-ups for a route that another process may have opened. */
  lookEveryMs: 5_000,
  /** Retries made due in one statement when a breaker closes, and statements. */
  releasedAtOnce: 1_000,
  releaseRounds: 1_000,
  /** Minimum interval between two releases of a site's rows. */
  releaseEveryMs: 1_000,
  /**
   * Sites whose rows of one task are parked each as a retry of its own: only those can be released when their site
   * recovers.
   */
  parkedSites: 50,
} as const;

/** Bounds of the operator's shaping. */
export const SHAPING_LIMITS = { ownProviders: 200, ownSites: 10_000, mxNames: 100, routes: 64 } as const;

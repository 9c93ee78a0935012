/** Bounds of the check engine: look-ups, sessions, slots, checks and what is learnt of sites. */

export const DNS_LIMITS = {
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
  /** Look-ups that are asked aside. They take no place of the others', so this may be small against `slow`. */
  aside: 512,
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
} as const;

export const SMTP_LIMITS = {
  connectTimeoutMs: 5_000,
  /** The next address of a host is dialled beside one that has not connected after this (RFC 8305 §8); so many in all on one slot. */
  nextAddressMs: 250,
  addressesAtOnce: 4,
  /** How long the addresses of a proxy that is given by name are believed. */
  proxyNameMs: 60_000,
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
  /** Of a domain, as Postfix and Exim do; addresses of each in both families, and attempts of one probe in all. */
  hostsTried: 5,
  addressesTriedPerHost: 8,
  attemptsPerProbe: 12,
  /** After a first reply, the probe of a request looks so long for a better one at other addresses and exchangers. */
  hurriedFailOverMs: 3_000,
  sessionRetries: 1,
  /** How often a transaction goes back to the queue because a session broke before its turn. */
  requeues: 5,
  probeBudgetMs: 30_000,
  slotWaitMs: 30_000,
  slotWaiters: 10_000,
  pipelineDepthMax: 10,
  /** Deadlines, cancellations and idle sessions are looked at this often. */
  sweepMs: 100,
  /**
   * The same of those that wait without a deadline, as patient rows of jobs do: one that nobody waits for any more keeps its place
   * in the line of its site for as long.
   */
  patientLookMs: 1_000,
  /** A session in use that others wait for is given up once it is this old: time slices, not thrashing. */
  slotTenureMs: 1_000,
  /** After a further slot was refused, the next try. */
  growRetryMs: 250,
  /** After the server refused a further connection beside working ones, the next try. */
  growBackoffMs: 5_000,
  /** A slot that is fetched while its host is looked up is kept for so long; so many of them at once. */
  foreseenMs: 1_000,
  foreseenSlots: 1_000,
  /** What was learnt of a host (depth, broken TLS) outlives its last session by this. */
  hostMemoryMs: 60_000,
  hosts: 20_000,
  /** Of a site, when it is asked how much its sessions take at once. */
  hostsAskedForDepth: 8,
} as const;

/** What servers teach by going wrong: depth of pipelines, transactions and rejections of a session, connections. */
export const LEARNT_LIMITS = {
  /** A little more than is known to go well is tried after this, twice as long after each try that failed. */
  holdMs: 60_000,
  holdMaxMs: 3_600_000,
  /** While nothing has gone wrong, one session tries more than is known to go well; another one if that shows nothing for so long. */
  eagerMs: 1_000,
  /** Of a session that no server and no setting limits. */
  sessionTransactionsMax: 10_000,
  sessionRejectionsMax: 1_000,
  /** After a try that went well, the next one. */
  stepMs: 10_000,
  /** A reply of a session that was fast before and is as late as this begins a tarpit. */
  slowReplyMs: 1_000,
  /** Before so many rejections none does. */
  slowFromRejections: 3,
  /** What was learnt of a site outlives its last session by this. */
  memoryMs: 3_600_000,
  /** Sites of which something is remembered, the longest unused go first. */
  sites: 5_000,
  /** A site's connections count as too many no more often: one burst of refusals is one trouble. */
  crowdedEveryMs: 1_000,
  /** Who was told of too many connections at a transaction stands in line again so often. */
  crowdedTries: 2,
  /** Where none works the next opening is tried after this, then ever more seldom, and given up after so long in all. */
  crowdedWaitMs: 1_000,
  crowdedPatienceMs: 10_000,
  /** A cap that is used up without trouble for so long grows by one. */
  raiseEveryMs: 10_000,
} as const;

/** Connection slots shared by the processes of an egress. */
export const SLOTS_LIMITS = {
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
  /** What fails after so long was a timeout, which may be our own standstill; Redis that is away is heard of at once. */
  missedMs: 250,
  sitesPerCall: 100,
  /** Names of sites in Redis that a process remembers. */
  keysKept: 4_096,
  /** A slot that passes from one thread to another has come by then: tenure, a batch, QUIT. */
  handoverMs: 3_000,
  /**
   * For so long no thread gets more than its share of a site where nobody had a slot: the turn in which a thread begins with a few
   * hundred new domains takes 20 to 100 ms, and its first requests are told at its end. As long as a connection takes to open.
   */
  evenMs: 100,
} as const;

export const CHECK_LIMITS = {
  /** Addresses: a batch counts those of its own that are asked about now. */
  tasksInFlight: 8_192,
  /** A task is open until its slowest server has answered: what waits for a place in the thread would look like a wait for CPU. */
  tasksPerThread: 8_192,
  /** Addresses of one batch: those of a whole retry (`rowsPerLargeChunk`), so that a slow one holds up no others. */
  batchAddresses: 4_000,
  /** A thread that runs batches looks this often whether one was handed in or cancelled. */
  haltLookMs: 50,
  /** The same where it runs none but those that wait for slow servers: nobody waits for their end as for that of a chunk. */
  patientHaltLookMs: 250,
  /**
   * What a thread keeps of the domains that it is asked about, and for how long: less than any TTL is believed. With what
   * their servers said, 10 KB each at most (`HeardReplies`), that is 50 MB at worst.
   */
  plans: 5_000,
  planKeptMs: 4_000,
  catchAllFacts: 50_000,
  /** What was asked of the store about domains whose first check is about to begin, and how long it is believed. */
  catchAllForeseen: 1_000,
  foreseenMs: 1_000,
  catchAllPerThread: 5_000,
  catchAllPerThreadMs: 60_000,
  /** The stranger's share of a check's budget: the answer about the real address is there already. */
  catchAllBudgetMs: 5_000,
  countsEveryMs: 500,
  /** What a thread tells the main thread that nobody waits for is gathered for so long, at most. */
  gatherMs: 100,
  /** Checks of requests that go to a thread in one message: more than come in a turn of the event loop under full load. */
  singlesPerTask: 128,
  /** Parts of evidence (of domains, mostly) that the main thread keeps, so that evidence of many shares them. */
  partsKept: 10_000,
  /**
   * Names of domains that were read lately, in each thread that reads addresses, of which a process has one: two generations, of
   * which the younger alone has room for the 100 000 domains of a long list. Longer names are read anew each time, and nothing is
   * kept of them, which costs a row some 5 us. Measured with a full memo: 124 bytes a name of 18 characters (33 MB in all), 164 of
   * 64, 245 if that was written in capitals (64 MB), with the numbers under which others keep what they know of it.
   */
  domainNames: 262_144,
  domainNameChars: 64,
  /** Before normalisation: room for escapes and U-labels around the 254 octets of a path. */
  addressChars: 1_024,
  /** A text that addresses are read out of: some hundred of them, or a paragraph. */
  cellChars: 16_384,
  /** What classification reads of a reply; real ones end long before. */
  replyMatchedChars: 4_096,
  /** What evidence keeps of a reply: more than real ones say, so that it can be classified again. */
  replyTextChars: 1_000,
  mxHosts: 100,
  mxHostsReported: 10,
  /** A domain with more exchangers is never `mx_unresolvable`: they are not looked up for proof. */
  mxHostsProven: 20,
  /** From the MX answer on, an answer waits no longer than this for SPF, DMARC and blocklists. */
  domainSignalsMs: 500,
  /** What was found of a domain is shared by those who ask soon after; then the DNS' cache is asked again. */
  domainSignalsKeptMs: 10_000,
  domainSignalsKept: 2_000,
} as const;

export const NETWORK_LIMITS = {
  windowS: 60,
  suspicion: 4,
  sitesRemembered: 64,
  reachedRemembered: 4,
  /** A dial without an answer for so long is suspicious: above any round trip that is common. Looked at every `smtp.sweepMs`. */
  silentMs: 200,
  /** A thread tells of a site's silence, and of a way's successes at `reachedRemembered` sites, no more often. */
  silentEveryMs: 500,
  reachedEveryMs: 1_000,
  /** Sentinels that are asked at once, how long, and of how many sites they must be to prove anything by their silence. */
  sentinels: 8,
  sentinelDialMs: 550,
  sentinelSites: 2,
  /** After an acquittal sentinels are left in peace, twice as long each time, up to the longer one. */
  coolMs: 250,
  coolMaxMs: 4_000,
  trialEveryMs: 3_000,
  trialDials: 8,
  trialDialMs: 2_500,
} as const;

/** Circuit breakers: when a site blocks us, and when it is asked again. The first time is a setting. */
export const BREAKER_LIMITS = {
  /** In a row. */
  blocksToOpen: 5,
  /** Or so many of the last answers. */
  blocksInWindow: 10,
  window: 20,
  /** Older answers count no more. */
  answersKeptMs: 600_000,
  /** Domains that have to block us at RCPT before a provider counts as blocking us: one customer may own several. */
  domainsOfProvider: 5,
  /** The same of a site whose customers, if it has any, are not known to be many. */
  domainsOfSite: 2,
  /** Twice as long after each trial that was blocked, up to this, and by chance a little longer. */
  maxMs: 900_000,
  jitter: 0.1,
  /** Of a trial; whoever took it is given up after the longer one: another may go. */
  trialMs: 60_000,
  trialTtlMs: 90_000,
  /** While a trial is under way, a thread asks again no sooner; and what a parked row waits. */
  trialWaitMs: 2_000,
  parkedTrialMs: 10_000,
  /** Nobody has wanted to go there for so long after the trial was due. */
  forgetMs: 3_600_000,
  sweepMs: 60_000,
  /** Ways that are remembered for a block though they are closed, the longest untouched go first; and open ones, the oldest. */
  ways: 10_000,
  openWays: 10_000,
  /** A way that another process may have opened is looked up no more often. */
  lookEveryMs: 5_000,
  /** Retries that become due in one statement when a breaker closes, and statements. */
  releasedAtOnce: 1_000,
  releaseRounds: 1_000,
  /** Rows of one site are called no more often. */
  releaseEveryMs: 1_000,
  /** Sites whose rows of one task are parked each as a retry of its own: only those can be called when theirs recovers. */
  parkedSites: 50,
} as const;

/** What an operator may lay over the shaping. */
export const SHAPING_LIMITS = { ownProviders: 200, ownSites: 10_000, mxNames: 100, ways: 64 } as const;

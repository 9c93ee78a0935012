import { WORKBOOK_LIMITS } from "./limits-workbook.ts";

const INLINE_ROWS = 10_000;
/** The longest address, whose letters beyond ASCII some clients write as \u escapes, in quotes and on a line of its own. */
const INLINE_ROW_BYTES = 1_024;

/** Bounds of bulk jobs and of the workers that verify them. */
export const BULK_LIMITS = {
  inlineRows: INLINE_ROWS,
  /** A body of so many rows, and what else may be said of a job. */
  bodyBytes: INLINE_ROWS * INLINE_ROW_BYTES + 65_536,
  /** More values are refused while the body comes: `inlineRows`, and what else may be said of a job. */
  bodyValues: INLINE_ROWS + 500,
  metadataPairs: 50,
  metadataKeyChars: 40,
  metadataValueChars: 500,
  /** All of it, as JSON: it travels with every event. */
  metadataBytes: 8_192,
  /** Of an object in a bucket of the team's: S3's own bound. */
  keyBytes: 1_024,
  /** What buckets teams may read from is asked for anew after so long; of so many teams it is kept that long. */
  grantsFreshMs: 1_000,
  grantsKept: 1_000,
  /**
   * For a job that goes on, it is read anew after so long whether teams say something else of domains; of so many jobs it is
   * known when that was.
   */
  overlaysFreshMs: 1_000,
  overlaysKept: 16,
  /** Jobs of a team that have not ended. */
  activeJobs: 100,
  /** Rows that are read or written between two turns of the event loop. */
  rowsPerTurn: 250,
  /** A submission waits so long for idle units of quota to come back from processes before it is refused. */
  quotaWaitMs: 3_000,
  quotaRetryMs: 250,
  /** Longer than writing a source takes with all its attempts; then the submission is given up by the relay. */
  submissionMs: 180_000,
  /**
   * Rows of a chunk: so many of the first `smallChunks` of a list, so that a short one is many workers' work; then more, since
   * a chunk costs the same requests and transactions whatever is in it. A list of `smallChunks` large ones has no small ones.
   */
  rowsPerChunk: 1_000,
  smallChunks: 32,
  rowsPerLargeChunk: 4_000,
  /** Further rows of a small one, where a domain ends with them. */
  chunkSlackRows: 250,
  /** Of a chunk's part of its source, about: it ends with the record that gets there. */
  chunkBytes: 1_048_576,
  /** One record of a source, its end included; and its columns. */
  recordBytes: 1_048_576,
  columns: 2_000,
  /** Of one cell, where each is verified (`split_cells`); a cell with more is malformed. */
  cellAddresses: 50,
  /** The start of a source, by which its layout is known. */
  sampleBytes: 262_144,
  sampleRows: 1_000,
  workbook: WORKBOOK_LIMITS,
  /** Of a source that is read between two turns of the event loop. */
  analysisTurnBytes: 65_536,
  /** Of a job, whatever the team's quota is. */
  rows: 100_000_000,
  /**
   * Tasks of a job that are emitted and not done: twice what the workers at hand take at once, within these bounds. A
   * small job waits behind one window of a big one.
   */
  windowMin: 16,
  windowMax: 512,
  /** The same of all jobs of a team, in windows of a job: whoever comes next waits behind no more of each other team's. */
  teamWindows: 4,
  /** Analyses and assemblies of a team that are emitted and not done: the next team's wait behind no more of them. */
  teamWhole: 2,
  emitJobs: 100,
  emitEveryMs: 500,
  /** Between two that a worker asks for: each is five round trips, and a window lasts longer even of the smallest chunks. */
  emitRestMs: 50,
  /** Workers are counted again after this. */
  workersFreshMs: 1_000,
  /**
   * Retries that are emitted and not done. Of one site as one egress sees it: enough to keep its connections busy, few
   * enough that the next team's turn comes soon; a worker more than half of these counts two. Of rows at several sites; of
   * all sites, in windows of what the workers take at once.
   */
  retryWindow: 4,
  mixedWindow: 16,
  retryWindows: 2,
  /** Lines (of an egress, a site and a job) that one emission looks at; the next goes on behind them. */
  retryLines: 500,
  /** Egresses that one emission looks at. */
  egresses: 100,
  /** What an egress that no worker has any more left behind is others' after this: a deploy must not take so long. */
  egressGoneMs: 600_000,
  egressTasksPerRound: 1_000,
  /**
   * Of one worker process: chunks; analyses and assemblies, which take long; retries, which wait for slow servers: about as many
   * sites are kept busy at once, where each has rows to come.
   */
  tasksAtOnce: 8,
  wholeAtOnce: 2,
  retriesAtOnce: 64,
  /**
   * Rows of chunks that are verified at once in a process; of retries, and of those that wait for one site: two of the
   * largest, so that no check thread sits on idle connections while another has all that is left of one. Of a retry of
   * one site so many count as keep that site busy (`roomOf`): the others of its rows come after them.
   */
  chunkRowsAtOnce: 2_048,
  retryRowsAtOnce: 4_096,
  siteRowsAtOnce: 2_048,
  /**
   * Rows that were put off, kept by who did so until they come back, so long at most: some hundred thousand of usual length.
   * Those that others came for are forgotten within twice the time.
   */
  keptRowsBytes: 16_777_216,
  keptRowsMs: 3_600_000,
  /** Chunks that were read for retries, for the others of theirs: some fifty of the largest of usual rows. */
  recentBytes: 8_388_608,
  recentMs: 60_000,
  /**
   * Rows of a chunk that take their places together; and of one that has more than `chunkRowsAtOnce` of which nothing is known: each piece is a look into Redis, a
   * message to a thread and a write, and half as many of a long list's took 1 to 2 us of 17 from the main thread for a row.
   */
  pieceRows: 250,
  largePieceRows: 500,
  /** From its turn on a piece of a chunk has so long; what is not answered then waits as a retry. */
  chunkBudgetMs: 10_000,
  /** When only this share of a piece is left, the others need not wait longer than this for it. */
  restShare: 0.1,
  restMs: 2_000,
  /**
   * Rows under way are looked at so often; those of a retry more seldom: it lasts for seconds, who waits for its places waits half
   * a second more, and sixty of them were six hundred looks a second.
   */
  watchEveryMs: { chunk: 100, retry: 500 },
  /** Rows of a chunk that wait for one site are a retry of their own from so many on. */
  retryRowsPerSite: 20,
  /**
   * Chunks of a process that stay for rows at busy sites, beside those of `tasksAtOnce`; of a job so many that two are left of its part of
   * the job's window, so that others of it still come. Of a chunk so large a part of the rows, at so many sites; so long at most, below
   * `early.patienceMs`, and so long where nothing is answered; and so many of the chunks for one site. Together they have so many rows,
   * `staysAtOnce` small chunks with their further rows; and of the places of `retryRowsAtOnce` no more than leave half to retries.
   */
  staysAtOnce: 28,
  staysPerJob: 14,
  stayingRows: 35_000,
  stayRowsAtOnce: 2_048,
  stayShare: 0.5,
  staySites: 16,
  stayMs: 20_000,
  stayQuietMs: 5_000,
  staysPerSite: 2,
  /** What Redis has nothing of is not looked for again for so long: less than a row that was put off may stand in its site's line anyhow. */
  soughtMs: 5_000,
  /** Rows of a domain that nothing is known of wait so long for a thread to say where they wait, then go without. */
  meetMs: 1_000,
  /**
   * Of rows that stand in line so many times those under way are looked up at once, the others after so long, or when these have their
   * answers: before a line of a slow site comes to them.
   */
  aheadFillings: 4,
  aheadMs: 3_000,
  /** Rows of one task of the check pool, those of one domain together; where not all are asked at once `LIMITS.check.batchAddresses`. */
  batchRows: 500,
  /**
   * Results of rows that are kept as templates, 2.6 KB each, 10 KB where a domain has ten long host names: 8 000 of different
   * MX sets were 21 MB and 81 MB. And of domains that are answered in several ways, the lists of theirs, 230 bytes each: lists
   * have more domains than ways to be answered. Two generations, as of LIMITS.check.domainNames.
   */
  templates: { kept: 8_192, domains: 262_144, perDomain: 16 },
  /** Probes of a site that a check thread admits: as many as its connections take at once, so often. */
  lineFillings: 2,
  /** Domains of which is known at which site their rows met too many others, some 200 bytes each. */
  fullDomains: 16_384,
  /** How long that holds: by then a thread is asked again, which knows what has changed about the site, or that it is another one. */
  fullDomainMs: 10_000,
  /** Nobody waits for a row as for a request: the stranger behind an accepted one may take longer to ask. */
  catchAllBudgetMs: 20_000,
  /** Above what a probe may take with look-ups before it and a slot to be waited for: what ended it is then known. */
  rowDeadlineMs: 60_000,
  /** After the check pool or a dependency turned work away; a task that fails by itself waits longer each time. */
  retryMs: 1_000,
  retryMaxMs: 10_000,
  /**
   * Rows that got a temporary reply without a time wait so long in all, where that is less than the setting: a trouble of the
   * server is over by then or lasts for days, and a full mailbox, or a catch-all probe that is never let in, seldom changes.
   */
  temporaryMs: 3_600_000,
  seldomMs: 900_000,
  /** Rows that our own network let nobody ask wait so long, or as long as they have waited already, up to the longer one. */
  networkRetryMs: 30_000,
  /** Rows wait so long for a network by which nobody was ever reached: port 25 may be closed for good. */
  unreachedMs: 300_000,
  networkRetryMaxMs: 300_000,
  readBlockMs: 1_000,
  /** A task that its worker gave no sign of life of for so long is another's. */
  leaseMs: 10_000,
  renewEveryMs: 2_000,
  claimEveryMs: 1_000,
  /** A task that was begun so often, and whose worker never lived to say why, is given up. */
  deliveries: 15,
  /** From this delivery on it is alone in its process, which then ends by nobody else's fault. */
  aloneFrom: 3,
  /** An object that is missing so often is gone. */
  missingTries: 4,
  /**
   * Somebody else's bucket that fails for so long, as one worker sees it, is waited for no longer; what it has not seen fail for so
   * long has not failed all the while; objects of which a worker knows that they fail.
   */
  sourceAwayMs: 21_600_000,
  sourceForgottenMs: 3_600_000,
  sourcesWatched: 1_000,
  /** A task that had to wait so often in a row is handed back; its worker takes over nothing for a while then. */
  interruptions: 5,
  handBackRestMs: 3_000,
  reconcileEveryMs: 2_000,
  reconcilePage: 1_000,
  /** Tasks and rows that wait are counted for the operator and the autoscaler. */
  countEveryMs: 2_000,
  reconcilePages: 1_000,
  /** Workers that have been gone for so long are forgotten. */
  idleConsumerMs: 600_000,
  forgetEveryMs: 60_000,
  /** Jobs looked at, ended or removed in one round of a chore. */
  jobsPerRound: 100,
  removeEveryMs: 5_000,
  /**
   * Between a job's end or removal and that of its objects: whoever still works on it has heard of it by then, and what
   * he had begun to write is written (LIMITS.objects.operationMs).
   */
  removalRestMs: 120_000,
  /**
   * Between a job's end and the removal of what its results were made from, and of what others began of its results: who reads
   * or writes them from before has so long.
   */
  spentRestMs: 3_600_000,
  objectPages: 100,
  /** Of a job that ends or is removed, tasks that go at once: a statement for all of them would run out of time. */
  tasksPerStatement: 5_000,
  /** The promoted overrides are read again by workers. */
  promotedEveryMs: 30_000,
  /** Finding the repeats of a job. Memory of one finder: at most twice `lists` blocks, and 40 bytes a key. */
  repeats: {
    /** Of the scratch file: the largest job takes 28 bytes a row. */
    fileBytes: 4_294_967_296,
    blockBytes: 16_384,
    /** Written and read. */
    blocksAtOnce: 16,
    /** Distinct keys that are compared in memory; and rows whose outcomes are put in order there. */
    keysAtOnce: 131_072,
    /** On disk, each with a block in memory: with more than so many times `keysAtOnce` keys some go round again. A power of two. */
    lists: 512,
  },
  /** Results that later rows repeat, on disk while results are put together. */
  copies: {
    /** Of the scratch file: no job gets there, with half of its rows copied and the largest results. The disk is full before. */
    fileBytes: 4_398_046_511_104,
    blockBytes: 32_768,
    /** In memory, of those read last. */
    blocksKept: 32,
  },
  /** Results of long jobs that are put together while their chunks are under way. */
  early: {
    /** Of shorter jobs the assembly is a matter of a tenth of a second. */
    rows: 20_000,
    /** Of a process: each has a join's memory, some 50 MB, for as long as its job's chunks take. */
    atOnce: 1,
    /**
     * Chunks of which Postgres is asked at a time, and how often while the next is not final: or, where its rows wait for slow servers,
     * after this share of how long it was waited for, pollMaxMs at most. What this process itself brings to its end is looked at
     * when it does.
     */
    page: 64,
    pollMs: 100,
    pollShare: 0.05,
    pollMaxMs: 500,
    /** Shards and rows of chunks that were written here, for the join beside them: a second's, where it keeps up. */
    freshBytes: 16_777_216,
    /** From so many of those on the job's next chunks wait for the join, 80 000 short rows behind; each so long at most. */
    behindBytes: 8_388_608,
    behindMs: 250,
    /** A chunk that does not become final for so long has rows that wait for their servers: no chunk behind it is joined. */
    patienceMs: 30_000,
    /** Who has a job's results in hand says so; a process that was killed says it no longer after this. */
    claimMs: 10_000,
    renewMs: 3_000,
    /** What one process gave up none begins again for so long. */
    givenUpMs: 3_600_000,
    /** So many processes may begin a job's and go without a word: whoever killed two would kill the third. */
    begins: 2,
    /**
     * An assembly waits so long for who has its results under way, then does it all. For another process shorter: that one
     * may be slow, and the assembly has a place of this one's `wholeAtOnce` meanwhile.
     */
    awaitMs: 120_000,
    awaitElsewhereMs: 30_000,
    /** Jobs that were begun so here: never twice. */
    remembered: 1_000,
  },
  /** A worker's heaps are let grow by so much before they are collected, by each isolate's share; bench/memory-bound.ts counts it. */
  heapRoomBytes: 46_137_344,
  /** Share of the grace that is left to tasks in hand before they are handed back. */
  drainShare: 0.5,
} as const;

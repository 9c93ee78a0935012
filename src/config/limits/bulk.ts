import { WORKBOOK_LIMITS } from "./workbook.ts";

const INLINE_ROWS = 10_000;
/** The longest address, whose letters beyond ASCII some clients write as \u escapes, in quotes and on a line of its own. */
const INLINE_ROW_BYTES = 1_024;

/** Bounds of bulk jobs and of the workers that verify them. */
export const BULK_LIMITS = {
  inlineRows: INLINE_ROWS,
  /** A longer inline list is analysed in the request thread: one of 64 KiB takes 20 to 50 ms. */
  inlineHere: { rows: 200, bytes: 8_192 },
  /** A body with this many rows, plus the job's other fields. */
  bodyBytes: INLINE_ROWS * INLINE_ROW_BYTES + 65_536,
  /** More values are refused while the body arrives: `inlineRows`, plus the job's other fields. */
  bodyValues: INLINE_ROWS + 500,
  metadataPairs: 50,
  metadataKeyChars: 40,
  metadataValueChars: 500,
  /** All metadata as JSON: it is sent with every event. */
  metadataBytes: 8_192,
  /** Length of an object's key in a team's bucket: the maximum of S3. */
  keyBytes: 1_024,
  /** A team's bucket grants are read again after this; for this many teams they are cached that long. */
  grantsFreshMs: 1_000,
  grantsKept: 1_000,
  /**
   * Interval of checking a team's domain lists for changes during a job. The time of the last check is remembered for
   * `overlaysKept` jobs.
   */
  overlaysFreshMs: 1_000,
  overlaysKept: 16,
  /** Groups of deferred rows that a job is shown with. */
  deferredGroups: 50,
  /** Providers that a job is shown with: more than the lists know. */
  providers: 500,
  /** Unfinished jobs of a team, in live and in test mode each. */
  activeJobs: 100,
  /**
   * Jobs of a team that are not deleted yet, and of its test keys alone: those of test keys, and of malformed rows, cost no quota
   * and are kept for RETENTION_DAYS. Of 30 days that is a job every 2.6 s, and every 26 s with test keys.
   */
  keptJobs: { all: 1_000_000, test: 100_000 },
  /** They are counted again after this; for this many shares (`shareKey`) the outcome is remembered. */
  keptFreshMs: 300_000,
  keptShares: 10_000,
  /** Rows read or written in one tick. */
  rowsPerTick: 250,
  /**
   * Time in one tick for looking up the results that rows copy: 250 look-ups take 2 to 5 ms, but far more where a slow disk
   * has to be read.
   */
  copyTickMs: 10,
  /** A submission waits this long for idle quota units to come back from processes before it is refused. */
  quotaWaitMs: 3_000,
  quotaRetryMs: 250,
  /** Longer than writing a source takes with all its attempts; then the relay gives the submission up. */
  submissionMs: 180_000,
  /**
   * Rows of a chunk: this many in each of the first `smallChunks` of a list, so that many workers share a short one; then
   * more, since a chunk costs the same requests and transactions whatever its size. A list that needs `smallChunks` large
   * ones has no small ones.
   */
  rowsPerChunk: 1_000,
  smallChunks: 32,
  rowsPerLargeChunk: 4_000,
  /** Further rows of a small chunk, where a domain ends with them. */
  chunkSlackRows: 250,
  /** Approximate size of a chunk's part of its source: it ends with the record that reaches it. */
  chunkBytes: 1_048_576,
  /** One record of a source, its end included; and its columns. */
  recordBytes: 1_048_576,
  columns: 2_000,
  /** Addresses of one cell, where each is verified (`split_cells`); a cell with more is malformed. */
  cellAddresses: 50,
  /** The start of a source, which decides its layout. */
  sampleBytes: 262_144,
  sampleRows: 1_000,
  workbook: WORKBOOK_LIMITS,
  /** Bytes of a source read in one tick. */
  analysisTickBytes: 65_536,
  /** Rows of a job, whatever the team's quota. */
  rows: 100_000_000,
  /**
   * Emitted, unfinished tasks of a job: twice what the present workers take at once, within these bounds. A small job waits
   * behind one window of a big one.
   */
  windowMin: 16,
  windowMax: 512,
  /**
   * The same for all jobs of a share (`shareKey`), in windows of a job: the next share waits behind no more of each other
   * one.
   */
  shareWindows: 4,
  /** Emitted, unfinished analyses and assemblies of a share: those of the next share wait behind no more of them. */
  shareWhole: 2,
  emitJobs: 100,
  emitEveryMs: 500,
  /**
   * Pause between two emissions that a worker requests: each is five round trips, and a window lasts longer even of the
   * smallest chunks.
   */
  emitRestMs: 50,
  /** Workers are counted again after this. */
  workersFreshMs: 1_000,
  /**
   * Emitted, unfinished retries. `retryWindow`, for one site of one egress: enough to keep its connections busy, few enough
   * that the next team follows soon. A worker with more than half of these counts as two. `mixedWindow`: for rows at several
   * sites. `retryWindows`: for all sites, in windows of what the workers take at once.
   */
  retryWindow: 4,
  mixedWindow: 16,
  retryWindows: 2,
  /** Queues (of an egress, a site and a job) that one emission examines; the next goes on after them. */
  retryQueues: 500,
  /** Egresses that one emission examines. */
  egresses: 100,
  /** After this, any egress may take the retries of one without workers. Longer than a deployment takes. */
  egressGoneMs: 600_000,
  egressTasksPerRound: 1_000,
  /**
   * Tasks that one worker process runs at once: chunks; analyses and assemblies, which take long; retries, which wait for
   * slow servers. About `retriesAtOnce` sites are kept busy at once if each has more rows.
   */
  tasksAtOnce: 8,
  wholeAtOnce: 2,
  retriesAtOnce: 64,
  /**
   * Rows verified at once in a process: of chunks; of retries; and of those that wait for one site: two of the largest, so
   * that no check thread holds idle connections while another has all remaining rows of one. Of a retry for one site as
   * many rows count as keep that site busy (`queueCapacityOf`): its other rows follow them.
   */
  chunkRowsAtOnce: 2_048,
  retryRowsAtOnce: 4_096,
  siteRowsAtOnce: 2_048,
  /** Chunks read for retries, cached for further retries of the same chunk: some fifty of the largest with usual rows. */
  recentBytes: 8_388_608,
  recentMs: 60_000,
  /**
   * Rows of a chunk that acquire slots together; `largePieceRows` for a chunk with more than `chunkRowsAtOnce` rows without
   * known results. Each piece is a look-up in Redis, a message to a thread and a write. For a long list, pieces of half the
   * size took 1 to 2 µs of the main thread's 17 for a row.
   */
  pieceRows: 250,
  largePieceRows: 500,
  /** Time for a piece of a chunk from its start; unanswered rows then wait as a retry. */
  chunkBudgetMs: 10_000,
  /** When only this share of a piece is left, the others wait for it at most this long. */
  restShare: 0.1,
  restMs: 2_000,
  /**
   * Interval of checking rows in progress; longer for those of a retry: it lasts for seconds, waiting for its slots takes
   * at most half a second more, and sixty retries meant six hundred checks a second.
   */
  watchEveryMs: { chunk: 100, retry: 500 },
  /** From this many deferred rows of a chunk for one site, they are a retry of their own. */
  retryRowsPerSite: 20,
  /**
   * Rows of one task of the check pool, those of one domain together; where not all are checked at once
   * LIMITS.check.batchAddresses.
   */
  batchRows: 500,
  /**
   * Results of rows kept as templates, 2.6 KB each, 10 KB where a domain has ten long host names: 8 000 of different MX
   * sets were 21 MB and 81 MB. And for domains with several kinds of answers, their lists, 230 bytes each: lists have more
   * domains than kinds of answers.
   */
  templates: { templates: 8_192, domains: 131_072, perDomain: 16 },
  /** Probes of a site that a check thread admits: this many times what its connections take at once. */
  lineFillings: 2,
  /** No request waits for a row: the catch-all probe behind an accepted one may take longer. */
  catchAllBudgetMs: 20_000,
  /** Above a probe's own maximum with its look-ups and wait for a slot: its end is then known. */
  rowDeadlineMs: 60_000,
  /**
   * Wait after the check pool or a dependency refused work; a task that fails by itself waits longer each time, up to
   * `retryMaxMs`. Also the least wait of rows: `retryMs` of one whose site deferred it or is blocked, `retryMaxMs` of one whose
   * site was busy.
   */
  retryMs: 1_000,
  retryMaxMs: 10_000,
  /**
   * Rows with a temporary reply without a time wait this long in all, where the setting allows longer: a server's trouble
   * is over by then or lasts for days, and a full mailbox, or a catch-all probe that is never accepted, seldom changes.
   */
  temporaryMs: 3_600_000,
  seldomMs: 900_000,
  /** Rows that our own network could not probe wait this long, or as long as they have waited already, up to the longer one. */
  networkRetryMs: 30_000,
  /** Rows wait this long for a network that never reached any server: port 25 may be closed for good. */
  unreachedMs: 300_000,
  networkRetryMaxMs: 300_000,
  readBlockMs: 1_000,
  /** A task whose worker was silent for this long goes to another. */
  leaseMs: 10_000,
  renewEveryMs: 2_000,
  claimEveryMs: 1_000,
  /** A task started this often, whose workers all died without a reason, is given up. */
  deliveries: 15,
  /** From this delivery on it runs alone in its process, so that a crash has no other cause. */
  aloneFrom: 3,
  /** An object missing this often is gone. */
  missingTries: 4,
  /**
   * A granted bucket that fails for `sourceAwayMs`, as one worker sees it, is given up. Without a failure for
   * `sourceForgottenMs` it counts as recovered. `sourcesWatched`: failing objects that a worker remembers.
   */
  sourceAwayMs: 21_600_000,
  sourceForgottenMs: 3_600_000,
  sourcesWatched: 1_000,
  /** A task interrupted this often in a row is handed back; its worker claims nothing for a while then. */
  interruptions: 5,
  handBackRestMs: 3_000,
  reconcileEveryMs: 2_000,
  reconcilePage: 1_000,
  /** Waiting tasks and rows are counted for the operator and the autoscaler. */
  countEveryMs: 2_000,
  reconcilePages: 1_000,
  /** Workers gone for this long are forgotten. */
  idleConsumerMs: 600_000,
  forgetEveryMs: 60_000,
  /** Jobs examined, ended or removed in one round of a periodic task. */
  jobsPerRound: 100,
  removeEveryMs: 5_000,
  /**
   * Between a job's end or removal and that of its objects: workers have noticed it by then, and their writes in progress
   * have ended (LIMITS.objects.operationMs).
   */
  removalRestMs: 120_000,
  /**
   * Between a job's end and the removal of its results' inputs, and of unfinished results: readers and writers from before
   * have this long.
   */
  spentRestMs: 3_600_000,
  objectPages: 100,
  /** Tasks deleted at once when a job ends or is removed: one statement for all of them would time out. */
  tasksPerStatement: 5_000,
  /** Workers read the promoted overrides again at this interval. */
  promotedEveryMs: 30_000,
  /** Finding the repeats of a job. Memory of one finder: at most twice `lists` blocks, and 40 bytes a key. */
  repeats: {
    /** Size of the scratch file. The largest job takes 28 bytes a row. */
    fileBytes: 4_294_967_296,
    blockBytes: 16_384,
    /** Written and read. */
    blocksAtOnce: 16,
    /** Distinct keys compared in memory; and rows whose outcomes are sorted there. */
    keysAtOnce: 131_072,
    /**
     * On disk, each with a block in memory: with more than this many times `keysAtOnce` keys some take another pass. A
     * power of two.
     */
    lists: 512,
  },
  /** Results that later rows repeat, on disk while results are assembled. */
  copies: {
    /**
     * Size of the scratch file. No job reaches it, even with half of its rows copied and the largest results: the disk is
     * full before.
     */
    fileBytes: 4_398_046_511_104,
    blockBytes: 32_768,
    /** In memory, of those read last. */
    blocksKept: 32,
  },
  /** Share of the grace period for current tasks before they are handed back. */
  drainShare: 0.5,
} as const;

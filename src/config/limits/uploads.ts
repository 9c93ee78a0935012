/** Request bodies that are streamed on as they arrive. */
export const INCOMING_LIMITS = {
  /** Bytes of a file that wait before its connection is paused; the server may have read some more by then. */
  heldBytes: 65_536,
  /** The rest of a refused request's body is read and dropped for this long. */
  lingerMs: 2_000,
  /** A multipart form: the overhead around its one file, and the limits of its other parts and their headers. */
  form: { overheadBytes: 1_048_576, parts: 100, fieldBytes: 65_536, headerPairs: 100, headerBytes: 16_384 },
} as const;

/** Files that teams upload for bulk jobs. */
export const UPLOAD_LIMITS = {
  filenameChars: 255,
  /** Validity of a presigned URL, also of a part. A request that started in time may take longer. */
  presignedMs: 3_600_000,
  /** From this size on an upload is in parts; S3 takes no more at once. */
  singleBytes: 5 * 1_073_741_824,
  /** Minimum size of one part: whole MiB, enough to keep the number of parts below `parts`. */
  partBytes: 104_857_600,
  parts: 1_000,
  /**
   * Requests that sign or list parts, in a process and of a share (`shareKey`) there, and those kept for shares that have none.
   * All together take `partsLoopPart` of the event loop's time, by turns of shares: 0.06 ms a signature, of which a turn makes
   * `partsAtOnce`, and `listedPartMs` for each part that object storage lists.
   */
  partLists: 32,
  partListsPerShare: 8,
  partListsKept: 8,
  partsLoopPart: 1 / 8,
  partsAtOnce: 16,
  listedPartMs: 0.01,
  /** S3 takes no smaller part, apart from the last of a file. */
  leastPartBytes: 5 * 1_048_576,
  /**
   * An open upload in parts expires later whenever its parts are listed, but never later than this after its creation: before
   * lifecycle rules of the bucket abort it (docs/operations.md: after 7 days).
   */
  openMs: 6 * 86_400_000,
  /** A team's uploads whose bytes have not been received and that have not expired. */
  open: 100,
  /** A team's uploads whose bytes have been received. */
  stored: 1_000,
  /** A team's uploads that were deleted or given up before they expired: until then their URLs still accept bytes. */
  deleted: 1_000,
  /** All bytes of a team, in lists of its maximum size; an upload of unknown size counts as one. */
  lists: 100,
  /** Concurrent uploads streamed through one process, and of one share (`shareKey`) there. Each holds up to `partsInFlight` parts. */
  streamed: 16,
  streamedPerTeam: 4,
  /** The part of `streamed` reserved for shares that have none. */
  streamedKept: 8,
  partsInFlight: 2,
  /** Time limit of one streamed upload; after that it counts as abandoned. */
  streamMs: 12 * 3_600_000,
  /** How long after its expiry an unfinished upload is removed: a request that started in time has ended by then. */
  unfinishedMs: 86_400_000,
  /** Jobs that an upload is shown with. There may be as many as a team keeps, and a page has 100 uploads. */
  jobsShown: 100,
  removeEveryMs: 5_000,
  perRound: 100,
  /** Uploads whose URLs still accept bytes, checked in a round, in turn: too large ones are removed. */
  looksPerRound: 20,
  objectPages: 100,
  /**
   * Previews of one process, and of one share (`shareKey`) there. One is read at a time, the others wait. Each ends after
   * `previewMs`, its wait included.
   */
  previews: 16,
  previewsPerTeam: 2,
  previewMs: 20_000,
  /** The part of `previews` reserved for shares that have none. */
  previewsKept: 8,
  /**
   * What a preview reads of a file, all its parts together; in pieces of this size, of which one has the sample of a text
   * (LIMITS.bulk.sampleBytes).
   */
  previewFileBytes: 16_777_216,
  previewPieceBytes: 262_144,
  /** Rows of a preview, and characters of their cells. */
  previewRows: 10,
  previewCellChars: 200,
} as const;

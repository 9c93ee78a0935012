/** Bodies of requests that are handed on as they come. */
export const INCOMING_LIMITS = {
  /** Of one, what waits to be taken before its connection is paused; what the server has read by then comes on top. */
  heldBytes: 65_536,
  /** What still comes of a body whose request was refused is taken in, and dropped, for so long. */
  lingerMs: 2_000,
  /** Of a multipart form: what stands around its one file, and what its other parts and their headers may have. */
  form: { overheadBytes: 1_048_576, parts: 100, fieldBytes: 65_536, headerPairs: 100, headerBytes: 16_384 },
} as const;

/** Files that teams upload for bulk jobs. */
export const UPLOAD_LIMITS = {
  filenameChars: 255,
  /** How long a presigned URL holds, of a part too. A request that began in time may take longer. */
  presignedMs: 3_600_000,
  /** From this size on an upload is in parts; S3 takes no more at once. */
  singleBytes: 5 * 1_073_741_824,
  /** Of one part, at least: whole MiB, as many as keep the number of parts below `parts`. */
  partBytes: 104_857_600,
  parts: 1_000,
  /** Of a team, whose bytes are awaited and not expired. */
  open: 100,
  /** Of a team, whose bytes are there. */
  stored: 1_000,
  /** Of a team, deleted or given up before their time was over: until then their URLs still take bytes. */
  deleted: 1_000,
  /** All bytes of a team, in lists of the largest size that it may have; an upload of unknown size counts as one. */
  lists: 100,
  /** Streamed through at once: of one process, and of one team there. Each holds up to `partsInFlight` parts. */
  streamed: 16,
  streamedPerTeam: 4,
  /** Of the first, for teams that have none. */
  streamedKept: 4,
  partsInFlight: 2,
  /** One that is streamed through may take so long; after that it counts as abandoned. */
  streamMs: 12 * 3_600_000,
  /** So long after it expired, what nobody finished is removed: a request that began in time has ended by then. */
  unfinishedMs: 86_400_000,
  removeEveryMs: 5_000,
  perRound: 100,
  /** Of those whose URLs may still take bytes, so many are looked at in a round, in turn: what is too large goes. */
  looksPerRound: 20,
  objectPages: 100,
  /** Of one process at once, and of one team there; rows that each shows, and characters of their cells. */
  previews: 8,
  previewsPerTeam: 2,
  previewRows: 10,
  previewCellChars: 200,
} as const;

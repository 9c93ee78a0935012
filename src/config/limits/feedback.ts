/** Reports by teams about the delivery of messages. */
export const FEEDBACK_LIMITS = {
  /** Bounds of one JSON request. */
  eventsPerRequest: 1_000,
  bodyBytes: 1_048_576,
  /** `eventsPerRequest` with every field, and the list itself. */
  bodyMembers: 12_001,
  bodyValues: 13_002,
  fieldChars: 100,
  /** Bounces of a request that are read within it; more are read in a thread: a quarter of a millisecond each. */
  bouncesReadHere: 10,
  /** Characters of the addresses of a request that are read within it: 1 ms at most. */
  addressCharsReadHere: 4_096,
  replyChars: 2_000,
  /** Size of a file that is sent to the API. `rcpt feedback` reads larger ones and sends JSON. */
  fileBytes: 10_485_760,
  /**
   * Files being received, read or stored: by a process, of a share (`shareKey`), and those kept for shares that send none. Their
   * memory is bounded with that of other bodies, so that few teams whose files come slowly do not keep the others out. The thread
   * that reads them has a task for each.
   */
  files: { streamed: 32, streamedPerTeam: 2, streamedKept: 16 },
  /**
   * A file is read no further than any of these: seconds, and less memory than the thread has. Its messages may take `slowMailMs`
   * over `mailMs` each: some are made to take a second, and other teams' reports wait. A bounce takes a quarter of a
   * millisecond, more on a busy node.
   */
  file: {
    events: 10_000,
    messages: 10_000,
    mailMs: 1,
    slowMailMs: 2_000,
    rows: 50_000,
    textBytes: 20_971_520,
  },
  /** Read of one message of a file: reports come before the message that they return. */
  messageBytes: 262_144,
  /** MIME parts within each other, and header bytes, of such a message. */
  messageDepth: 16,
  messageHeaderBytes: 131_072,
  /** Reported by one message. */
  recipientsPerMessage: 1_000,
  /** Rows of one statement. */
  rowsPerStatement: 1_000,
  eventsPerTeamDay: 30_000,
  /** Cached findings that bounces of one team end, a UTC day. */
  withdrawalsPerTeamDay: 500,
  /** A cached finding younger than this is not ended by a bounce: at most one more probe an address in this time. */
  withdrawnAfterMs: 3_600_000,
  keptDays: 90,
  daysDefault: 30,
  /** Listed by a report, the largest first. */
  groups: 500,
  wrong: 100,
  /** The newest wrong answers of a team, of which the most frequent are listed: a team may make each a group of its own. */
  wrongCounted: 100_000,
  /**
   * Readings of the accuracy that wait or run: in a process, of one team, and those kept for teams that have none. `kept`
   * teams have their last one, of up to 100 KB, answered again for `keptMs`.
   */
  accuracy: { waiting: 32, waitingPerTeam: 4, waitingKept: 8, kept: 100, keptMs: 60_000 },
  prunedPerRound: 5_000,
  pruneRounds: 20,
} as const;

const MIB = 1_048_576;

/** Workbooks (.xlsx) read as lists. */
export const WORKBOOK_LIMITS = {
  /** Files in the archive. */
  entries: 20_000,
  /** Bytes of the archive's directory that are read at once. */
  windowBytes: 65_536,
  /**
   * A part inflates to at most `partBytes`, and at most `ratio` times its compressed size beyond the first `freeBytes`.
   * Sheets inflate 5 to 30 times, deflate's maximum is 1 032.
   */
  partBytes: 8_192 * MIB,
  freeBytes: 64 * MIB,
  ratio: 100,
  /** Inflated size of a part that describes the sheets. */
  smallPartBytes: 16 * MIB,
  sheets: 1_000,
  /** Spreadsheets allow 65 490. */
  styles: 100_000,
  /** Inflated bytes of the strings, and of a sheet, that a preview reads. It uses no scratch file. */
  previewBytes: 8 * MIB,
  /** Up to this many empty rows in a sequence become blank lines; a longer sequence is dropped. */
  blankRows: 1_000,
  xmlDepth: 64,
  /** Size of a text, a comment or a tag. */
  tokenBytes: MIB,
  strings: {
    /** A block of shared strings ends at whichever of these two comes first. */
    blockStrings: 64,
    blockChars: 4_096,
    /** Blocks that stay in memory. The others are written to a scratch file. */
    memoryBytes: 8 * MIB,
    /** Decoded blocks in memory. */
    decodedChars: 2 * MIB,
  },
} as const;

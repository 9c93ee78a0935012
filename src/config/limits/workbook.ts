const MIB = 1_048_576;

/** Workbooks (.xlsx) read as lists. */
export const WORKBOOK_LIMITS = {
  /** Of the archive. */
  entries: 20_000,
  /** Of the archive's directory, read at once. */
  windowBytes: 65_536,
  /**
   * A part inflates to at most `partBytes`, and at most `ratio` times its compressed size beyond the first `freeBytes`.
   * Sheets inflate 5 to 30 times, deflate's maximum is 1 032.
   */
  partBytes: 8_192 * MIB,
  freeBytes: 64 * MIB,
  ratio: 100,
  /** Of parts that describe the sheets, inflated. */
  smallPartBytes: 16 * MIB,
  sheets: 1_000,
  /** Spreadsheets allow 65 490. */
  styles: 100_000,
  /** Of strings, and of a sheet, inflated, that are read without scratch: for a preview. */
  previewBytes: 8 * MIB,
  /** Empty rows between two others that become blank lines; more become none. */
  blankRows: 1_000,
  xmlDepth: 64,
  /** Of a text, a comment or a tag. */
  tokenBytes: MIB,
  strings: {
    /** Of a block of shared strings: whichever comes first. */
    blockStrings: 64,
    blockChars: 4_096,
    /** Of blocks that stay in memory; the others go to scratch. */
    memoryBytes: 8 * MIB,
    /** Of decoded blocks. */
    decodedChars: 2 * MIB,
  },
} as const;

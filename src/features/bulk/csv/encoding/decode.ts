import type { Scratch } from "../../../../stores/scratch.ts";
import type { SourceOptions } from "../../analysis/layout.ts";
import type { RandomBytes } from "../../workbook/random-bytes.ts";
import { type ChosenSheet, isZip, type OpenedWorkbook, openWorkbook } from "../../workbook/workbook.ts";
import { type CsvProblem, CsvProblemError } from "../problems.ts";
import { type PeekedStream, peekStart } from "../start.ts";
import { Tolerated, withoutPadding } from "../tolerated.ts";
import { gunzip, isGzip, transcoded, utf16Of } from "./encoding.ts";
import type { TextForm } from "./text-form.ts";

/** Bytes of an object that reveal whether it is compressed, and which UTF-16 it is. */
const SNIFF_BYTES = 4_096;

export interface TextLimits {
  /** Maximum bytes of a decompressed gzip file. */
  decompressedBytes: number;
  /** Bytes of `head`. */
  sampleBytes: number;
}

/** Options of a source, and how to read sources that are not streams. */
export interface OpenOptions extends Pick<SourceOptions, "sheet" | "delimiter"> {
  /** How a workbook is read; absent: it is refused. */
  workbook?: {
    /** The same object, anywhere. */
    at(): Promise<RandomBytes>;
    /** See WorkbookOptions. */
    scratch: Scratch | null;
  };
}

/** The text of an object: its own bytes, or UTF-8 made of UTF-16. A byte order mark is left at its beginning, in UTF-8. */
export interface OpenedText {
  ok: true;
  form: TextForm;
  /** The object's bytes are the text as they are: parts of it can be read by ranges of the object. */
  rangeReadable: boolean;
  /** For a workbook: input for `detectLayout`; null: it is not a workbook. */
  sheet: { sheetRead: ChosenSheet; delimiter: string } | null;
  /** The first bytes of the text. */
  head: Buffer;
  /** True when the head is the whole text. */
  whole: boolean;
  /**
   * All of the text, to be read once. It is read from the source as fast as it is taken. Leaving the loop closes the
   * source. Ends with a CsvProblemError (`not_readable`, `bulk_too_large`) or with the source's own error.
   */
  text: AsyncIterable<Buffer>;
  /** Bytes that do not belong in it, and were tolerated. */
  tolerated: Tolerated;
  /** Closes the source, of a text that is not read. */
  close(): Promise<void>;
}

/**
 * Opens an object as text. gzip (also of several members) is decompressed, and UTF-16 with or without a byte order mark is
 * transcoded. The chosen sheet of a workbook is written as CSV. Memory: the head and a few pieces of the source. Throws
 * errors of the source.
 */
export async function openText(
  source: AsyncIterable<Uint8Array>,
  limits: TextLimits,
  { workbook, ...options }: OpenOptions = {},
): Promise<OpenedText | ({ ok: false } & CsvProblem)> {
  const input = source[Symbol.asyncIterator]();
  let read: PeekedStream | undefined;
  const tolerated = new Tolerated();
  const close = async (): Promise<void> => {
    await read?.close();
    await input.return?.();
  };
  try {
    read = await peekStart(input, SNIFF_BYTES);
    if (workbook !== undefined && isZip(read.start)) {
      await close();
      const asked = { ...options, scratch: workbook.scratch, stringsBytes: limits.decompressedBytes };
      return await textOf(await openWorkbook(await workbook.at(), asked), limits);
    }
    const gzip = isGzip(read.start);
    if (gzip) read = await peekStart(gunzip(read.all(), limits.decompressedBytes, tolerated), SNIFF_BYTES);
    const encoding = utf16Of(read.start);
    const decoded = encoding === undefined ? read.all() : transcoded(read.all(), encoding, tolerated);
    read = await peekStart(withoutPadding(decoded, tolerated), limits.sampleBytes);
    const { start: head, whole, all } = read;
    const form = { gzip, utf16: encoding ?? null };
    const rangeReadable = !form.gzip && form.utf16 === null;
    const text = closing(all(), close);
    return { ok: true, form, rangeReadable, sheet: null, head, whole, text, tolerated, close };
  } catch (error) {
    await close();
    if (error instanceof CsvProblemError) return { ok: false, ...error.problem };
    throw error;
  }
}

async function textOf(
  { sheet, delimiter, text, isCut, close }: OpenedWorkbook,
  { sampleBytes }: TextLimits,
): Promise<OpenedText> {
  try {
    const { start: head, whole, all, close: end } = await peekStart(text, sampleBytes);
    const closeAll = () => end().finally(close);
    return {
      ok: true,
      form: { gzip: false, utf16: null, workbook: true },
      rangeReadable: false,
      sheet: { sheetRead: sheet, delimiter },
      head,
      whole: whole && !isCut(),
      text: closing(all(), closeAll),
      tolerated: new Tolerated(),
      close: closeAll,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* closing(text: AsyncGenerator<Buffer>, close: () => Promise<void>): AsyncGenerator<Buffer> {
  try {
    yield* text;
  } finally {
    await close();
  }
}

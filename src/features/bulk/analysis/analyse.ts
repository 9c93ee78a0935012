import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import { type AddressReading, readAddresses } from "../../../verification/address/addresses-in.ts";
import type { ScoredColumn } from "../columns/choose-column.ts";
import { shownColumnName } from "../columns/pick-column.ts";
import type { DetectedLayout, DetectedTable } from "../csv/detect.ts";
import type { OpenedText, OpenOptions } from "../csv/encoding/decode.ts";
import { byteUnitOf, whenRead } from "../csv/encoding/text-form.ts";
import { textIn } from "../csv/field.ts";
import { kindOfCell, PLAIN_CELL, UNSURE_CELL } from "../csv/plain-address.ts";
import { CsvProblemError, problem } from "../csv/problems.ts";
import { createRecordScanner } from "../csv/scan.ts";
import type { RecordScanner } from "../csv/scan-types.ts";
import { SourceText } from "../csv/source-text.ts";
import { quoteJudge } from "../csv/suspicion.ts";
import { TableEnd, tableWidth } from "../csv/table-end.ts";
import { Tolerated } from "../csv/tolerated.ts";
import { type ValuePlace, valueAt } from "../csv/value-place.ts";
import { ADDRESS_COLUMN, type RowSink, Splitter } from "../split/splitter.ts";
import { openSource } from "../submit/open-source.ts";
import { type CutChunk, createChunkCutter } from "./chunk-cutter.ts";
import { FoundCells } from "./found-cells.ts";
import type { JobProblem, SourceColumns, SourceLayout, SourceOptions, SourceWarning } from "./layout.ts";
import type { RepeatFinder } from "./repeat-finder.ts";

/** Maximum size of a job. */
export interface AnalysisBounds {
  rows: number;
  /** Bytes of the text: decompressed, in UTF-8. */
  bytes: number;
}

/** Receivers of the rows and the text that the analysis reads. */
export interface AnalysisSinks {
  /** Receives the well-formed addresses. */
  repeats: Pick<RepeatFinder, "add">;
  /** Called once, to write the text of a source whose bytes are not the text itself, or whose cells are split. */
  rewrite(): { write(piece: Buffer): Promise<void> };
  /** Receives the reading of each row. An error of it ends the analysis. */
  inspect?(reading: AddressReading): void;
}

/** The structure of a source. The finder of repeats has the repeats. */
export interface ScannedSource {
  ok: true;
  layout: SourceLayout;
  /** Chunks of the text, which is the source or its converted form. */
  chunks: CutChunk[];
  rows: number;
  /** Rows with something in the cell of the address that is not one address. */
  malformed: number;
  /** Rows with nothing there. */
  empty: number;
  rewritten: boolean;
  columns: SourceColumns;
  /** Candidates for the address column, from the first rows. */
  candidates: ScoredColumn[];
  warnings: SourceWarning[];
}

/** Minimum rows for judging a list without an address as a mistake in the list or its column. */
const ROWS_TO_JUDGE = 5;

type Refusal = { ok: false } & JobProblem;

/** Properties of the text that the reader of rows needs. */
type ReadText = Pick<OpenedText, "form" | "rangeReadable" | "tolerated"> & { sheet: object | null };

interface Plan {
  opened: ReadText;
  detected: DetectedTable;
  bounds: AnalysisBounds;
  sinks: AnalysisSinks;
  /** Each address of a cell is a row (split/splitter.ts). */
  splitCells: boolean;
}

/**
 * Reads a source once, from its beginning to its end: its layout, its rows and their addresses. A quarter of a megabyte is
 * read for the layout. After that memory is a piece of LIMITS.bulk.analysisTickBytes, a record, 24 bytes for each row of a
 * piece, and some 60 bytes a chunk (createChunkCutter). Only the chunks grow with the rows. Other work runs between pieces.
 * @throws errors of the source and the sinks; the reason of `cancelled`
 */
export async function analyseSource(
  source: AsyncIterable<Uint8Array>,
  options: SourceOptions & Pick<OpenOptions, "workbook"> & { splitCells?: boolean },
  bounds: AnalysisBounds,
  sinks: AnalysisSinks,
  cancelled: AbortSignal,
): Promise<ScannedSource | Refusal> {
  const open = await openSource(source, options, bounds.bytes);
  if (!open.ok) return open;
  const { opened, detected } = open;
  try {
    return await scan(
      { opened, detected, bounds, sinks, splitCells: options.splitCells === true },
      cancelled,
    );
  } catch (error) {
    if (error instanceof CsvProblemError) return { ok: false, ...error.problem };
    throw error;
  }
}

/** The rows at the beginning of a source, as its job would count them. */
export interface FirstRows {
  rows: number;
  /** Rows with the address of an earlier one. */
  repeats: number;
  /** Rows that `split_cells` would verify by each address in their cell, and those addresses. */
  several: { rows: number; addresses: number };
  /** Start of the first row, and end of the last one, as bytes of the text. */
  firstByte: number;
  endByte: number;
  /** Why a job would fail behind them; null: it would not. */
  failure: Refusal | null;
  /** They are all, and make no job. */
  useless: ReturnType<typeof problem> | null;
}

/** @param whole the head is all of the text; otherwise its last row may be cut off, and does not count */
export async function countFirstRows(
  head: Buffer,
  detected: DetectedTable,
  { whole, sheetRead = null }: { whole: boolean; sheetRead?: SourceColumns["sheet"] },
): Promise<FirstRows> {
  const keys = new Set<string>();
  let repeats = 0;
  const add = (_row: number, bytes: Uint8Array, from: number, to: number) => {
    const { size } = keys;
    if (keys.add(Buffer.from(bytes.subarray(from, to)).toString("latin1")).size === size) repeats += 1;
    return null;
  };
  const form = { gzip: false, utf16: null };
  const reader = new RowReader({
    opened: { form, rangeReadable: true, tolerated: new Tolerated(), sheet: sheetRead },
    detected,
    bounds: { rows: LIMITS.bulk.rows, bytes: Number.POSITIVE_INFINITY },
    sinks: { repeats: { add }, rewrite: () => ({ write: async () => {} }) },
    splitCells: false,
  });
  const { firstByte } = detected;
  const refused = (await reader.read(head, firstByte)) ?? (whole ? await reader.endOfText() : undefined);
  const failure = refused ?? null;
  const useless = whole && failure === null ? reader.uselessness() : null;
  return { ...reader.soFar, repeats, several: reader.several, firstByte, failure, useless };
}

async function scan(
  plan: Plan & { opened: OpenedText },
  cancelled: AbortSignal,
): Promise<ScannedSource | Refusal> {
  const { opened, detected, bounds } = plan;
  const reader = new RowReader(plan);
  const rewriting = reader.isRewriting ? plan.sinks.rewrite() : null;
  let at = 0;
  for await (const whole of opened.text) {
    for (const piece of slicesOf(whole)) {
      const skipped = Math.min(piece.length, Math.max(0, detected.firstByte - at));
      at += piece.length;
      if (at > bounds.bytes) return tooManyBytes(bounds, whenRead(opened.form));
      const refused = await reader.read(piece, skipped);
      if (refused !== undefined) return refused;
      if (at + reader.repeatedBytes > bounds.bytes) return tooManyBytes(bounds, SPLIT_BYTES);
      for (const part of reader.rewritten(piece)) await rewriting?.write(part);
      await turn();
      cancelled.throwIfAborted();
    }
  }
  const scanned = await reader.end();
  if (at + reader.repeatedBytes > bounds.bytes) return tooManyBytes(bounds, SPLIT_BYTES);
  for (const part of reader.rewritten(null)) await rewriting?.write(part);
  return scanned;
}

/** Added to the sentence when cells are split. */
const SPLIT_BYTES = ", a row counted once for each address in its cell";

function tooManyBytes({ bytes }: AnalysisBounds, of: string): Refusal {
  return problem("bulk_too_large", `A list of the team may have ${bytes} bytes${of}; this one has more.`);
}

function* slicesOf(piece: Buffer): Generator<Buffer> {
  const { analysisTickBytes } = LIMITS.bulk;
  for (let from = 0; from < piece.length; from += analysisTickBytes)
    yield piece.subarray(from, from + analysisTickBytes);
}

function noAddress({ header, emailColumn, encoding }: DetectedLayout, rows: number) {
  const name = header?.[emailColumn];
  const which = `column ${emailColumn}, counted from 0${name === undefined ? "" : `, ${shownColumnName(textIn(name, encoding))}`}`;
  return problem("no_email_column", `None of the ${rows} rows has an email address in ${which}.`);
}

/**
 * A class, like all code that a list's rows pass through. V8 drops the compiled code of closures with the last of them; a
 * list with closures of its own compiles all of them again.
 */
class RowReader {
  readonly #opened: ReadText;
  readonly #detected: DetectedTable;
  readonly #rowsMax: number;
  readonly #sinks: AnalysisSinks;
  readonly #cutter = createChunkCutter();
  readonly #found = new FoundCells();
  readonly #text = new SourceText();
  readonly #tableEnd: TableEnd;
  /** null: rows are not split. */
  readonly #splitter: Splitter | null;
  readonly #scanner: RecordScanner;
  #width: number;
  #rows = 0;
  #endByte: number;
  #malformed = 0;
  #empty = 0;
  /** Malformed rows with several addresses. */
  #several = 0;
  /** Those that splitting makes several rows of, and how many. */
  readonly #splittable = { rows: 0, addresses: 0 };

  constructor({ opened, detected, bounds, sinks, splitCells }: Plan) {
    const { layout, firstByte, shape } = detected;
    const { recordBytes, columns } = LIMITS.bulk;
    const place = { firstByte, bytesOf: byteUnitOf(opened.form) };
    this.#opened = opened;
    this.#detected = detected;
    this.#rowsMax = bounds.rows;
    this.#endByte = firstByte;
    this.#sinks = sinks;
    this.#width = layout.header?.length ?? 0;
    const note: RowSink = (start, end, fields, address) => this.#note(start, end, fields, address);
    const splitter = splitCells ? new Splitter(layout, firstByte, note) : null;
    this.#splitter = splitter;
    this.#tableEnd = new TableEnd(
      tableWidth(layout.header, detected.rows),
      firstByte,
      this.#text,
      splitter === null ? note : (start, _end, fields, address) => splitter.take(start, fields, address),
    );
    this.#scanner = createRecordScanner(
      {
        ...layout,
        recordBytes,
        columns,
        ...place,
        ...(opened.sheet === null ? { judge: quoteJudge(layout, shape) } : {}),
      },
      (start, end, fields, address) => {
        splitter?.find(start, end);
        this.#tableEnd.take(start, end, fields, address);
      },
    );
  }

  /** True when the text has to be written, or its split rows. */
  get isRewriting(): boolean {
    return this.#splitter !== null || !this.#opened.rangeReadable;
  }

  /** Bytes of rows that are more than one record, beyond the first. */
  get repeatedBytes(): number {
    return this.#splitter?.repeatedBytes ?? 0;
  }

  /** The bytes to write for the piece read last. @param piece null: the text has ended */
  rewritten(piece: Buffer | null): Iterable<Buffer> {
    if (this.#splitter !== null) return this.#splitter.takeWritten();
    return piece === null || this.#opened.rangeReadable ? [] : [piece];
  }

  /** Rows so far, and where in the text the last of them ends. */
  get soFar(): { rows: number; endByte: number } {
    return { rows: this.#rows, endByte: this.#endByte };
  }

  get several(): FirstRows["several"] {
    return { ...this.#splittable };
  }

  #note(start: number, end: number, fields: number, address: ValuePlace): void {
    this.#endByte = end;
    this.#cutter.add(start, end, address);
    if (fields > this.#width) this.#width = fields;
    this.#found.add(address);
  }

  /** Takes a cell that has to be read as text. @returns as RepeatFinder.add */
  #takeText(cell: string): Promise<void> | null {
    const reading = readAddresses(textIn(cell, this.#detected.layout.encoding));
    this.#sinks.inspect?.(reading);
    if (reading.kind !== "one") {
      if (reading.kind === "empty") this.#empty += 1;
      else this.#malformed += 1;
      if (reading.kind === "several") this.#noteSeveral(reading.texts.length);
      return null;
    }
    const { address } = reading;
    const key = Buffer.from(address.cacheKey);
    return this.#sinks.repeats.add(this.#rows, key, 0, key.length);
  }

  #noteSeveral(addresses: number): void {
    this.#several += 1;
    if (addresses > LIMITS.bulk.cellAddresses) return;
    this.#splittable.rows += 1;
    this.#splittable.addresses += addresses;
  }

  #take(cell: ValuePlace): Promise<void> | null {
    const { repeats, inspect } = this.#sinks;
    const kind = inspect === undefined ? kindOfCell(cell) : UNSURE_CELL;
    if (kind === PLAIN_CELL) return repeats.add(this.#rows, cell.bytes, cell.from, cell.to);
    if (kind === UNSURE_CELL) return this.#takeText(valueAt(cell));
    this.#malformed += 1;
    return null;
  }

  async #takeRows(): Promise<Refusal | undefined> {
    const found = this.#found;
    const rowsMax = this.#rowsMax;
    if (this.#rows + found.count() > rowsMax)
      return problem("bulk_too_large", `A job of the team may have ${rowsMax} rows; the list has more.`);
    for (let i = 0; i < found.count(); i++) {
      const due = this.#take(found.at(i));
      this.#rows += 1;
      if (due !== null) await due;
    }
    found.clear();
    return undefined;
  }

  /** @param skipped bytes of the piece above the first row */
  async read(piece: Buffer, skipped: number): Promise<Refusal | undefined> {
    this.#text.push(piece);
    const rest = piece.subarray(skipped);
    this.#splitter?.push(rest);
    const broken = this.#scanner.push(rest);
    this.#splitter?.forget();
    return broken === undefined ? this.#takeRows() : { ok: false, ...broken };
  }

  /** Takes the last row. */
  async endOfText(): Promise<Refusal | undefined> {
    const broken = this.#scanner.end();
    return broken === undefined ? this.#takeRows() : { ok: false, ...broken };
  }

  /** The reason why the rows, once all are read, make no job; null: they make one. */
  uselessness(): FirstRows["useless"] {
    const [rows, malformed] = [this.#rows, this.#malformed];
    if (rows === 0) return problem("empty_source", "The file has a header and no rows.");
    const hasNone = malformed === rows - this.#empty && this.#several === 0;
    return hasNone && malformed >= ROWS_TO_JUDGE ? noAddress(this.#detected.layout, rows) : null;
  }

  async end(): Promise<ScannedSource | Refusal> {
    const refused = await this.endOfText();
    if (refused !== undefined) return refused;
    const useless = this.uselessness();
    if (useless !== null) return useless;
    const [rows, malformed, empty] = [this.#rows, this.#malformed, this.#empty];
    const { candidates } = this.#detected;
    const { tolerated, form } = this.#opened;
    const warnings = [...this.#detected.warnings, ...tolerated.warnings(byteUnitOf(form))];
    const above = this.#detected.columns.skipped_lines;
    const columns = { ...this.#detected.columns, skipped_lines: [...above, ...this.#tableEnd.end()] };
    const { emailColumn } = this.#detected.layout;
    const split = this.#splitter === null ? {} : { emailColumn: ADDRESS_COLUMN, split: { emailColumn } };
    const layout = { ...this.#detected.layout, columns: this.#width, ...split };
    const found = {
      layout,
      chunks: this.#cutter.end(),
      rows,
      malformed,
      empty,
      columns,
      candidates,
      warnings,
    };
    return { ok: true, ...found, rewritten: this.isRewriting };
  }
}

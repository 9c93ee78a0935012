import { setImmediate as turn } from "node:timers/promises";
import { addressesIn, type Reading } from "../../check/address/addresses-in.ts";
import { LIMITS } from "../../core/limits.ts";
import { type CutChunk, createChunkCutter } from "./chunk-cutter.ts";
import type { Candidate } from "./columns/choose-column.ts";
import { shown } from "./columns/pick-column.ts";
import type { OpenedText, OpenOptions } from "./csv/decode.ts";
import type { DetectedLayout, DetectedTable } from "./csv/detect.ts";
import { textIn } from "./csv/field.ts";
import { kindOfCell, PLAIN, UNSURE } from "./csv/plain-address.ts";
import { CsvProblemError, problem } from "./csv/problems.ts";
import { createRecordScanner } from "./csv/scan.ts";
import type { RecordScanner } from "./csv/scan-types.ts";
import { SourceText } from "./csv/source-text.ts";
import { quoteJudge } from "./csv/suspicion.ts";
import { TableEnd, tableWidth } from "./csv/table-end.ts";
import { bytesOf, whenRead } from "./csv/text-form.ts";
import { type ValuePlace, valueAt } from "./csv/value-place.ts";
import type { JobProblem, SourceColumns, SourceLayout, SourceOptions, SourceWarning } from "./layout.ts";
import { openSource } from "./open-source.ts";
import type { RepeatFinder } from "./repeat-finder.ts";

/** What a job may have. */
export interface AnalysisBounds {
  rows: number;
  /** Of the text: decompressed, in UTF-8. */
  bytes: number;
}

/** Whom the analysis tells of what it reads. */
export interface AnalysisSinks {
  /** Of the well-formed addresses. */
  repeats: Pick<RepeatFinder, "add">;
  /** Takes the text, piece by piece, of a source whose bytes are not the text as they are; asked for once. */
  rewrite(): { write(piece: Buffer): Promise<void> };
  /** What is read out of each row. What it throws ends the analysis. */
  inspect?(reading: Reading): void;
}

/** What a source is made of. Repeats are known to who has counted them. */
export interface ScannedSource {
  ok: true;
  layout: SourceLayout;
  /** Of the text: the source, or what it was rewritten to. */
  chunks: CutChunk[];
  rows: number;
  /** Rows with something in the cell of the address that is not one address. */
  malformed: number;
  /** Rows with nothing there. */
  empty: number;
  rewritten: boolean;
  columns: SourceColumns;
  /** By the first rows. */
  candidates: Candidate[];
  warnings: SourceWarning[];
}

/** A list of so many rows without one address is a mistake in the list or its column; fewer may be meant so. */
const ROWS_TO_JUDGE = 5;

type Refusal = { ok: false } & JobProblem;

interface Plan {
  opened: OpenedText;
  detected: DetectedTable;
  bounds: AnalysisBounds;
  sinks: AnalysisSinks;
}

/**
 * Reads a source from its beginning to its end, once: what it is, where its rows are, which of them are addresses. A
 * quarter of a megabyte is looked at for the layout; after that memory is a piece of LIMITS.bulk.analysisTurnBytes, a
 * record, 24 bytes for each row of a piece, and some 60 bytes a chunk (createChunkCutter), the only thing that grows with
 * the rows. Lets other work go on after each piece.
 *
 * @throws what the source and the sinks do; the reason of `cancelled`
 */
export async function analyseSource(
  source: AsyncIterable<Uint8Array>,
  options: SourceOptions & Pick<OpenOptions, "workbook">,
  bounds: AnalysisBounds,
  sinks: AnalysisSinks,
  cancelled: AbortSignal,
): Promise<ScannedSource | Refusal> {
  const open = await openSource(source, options, bounds.bytes);
  if (!open.ok) return open;
  const { opened, detected } = open;
  try {
    return await scan({ opened, detected, bounds, sinks }, cancelled);
  } catch (error) {
    if (error instanceof CsvProblemError) return { ok: false, ...error.problem };
    throw error;
  }
}

async function scan(plan: Plan, cancelled: AbortSignal): Promise<ScannedSource | Refusal> {
  const { opened, detected, bounds } = plan;
  const reader = new RowReader(plan);
  const rewriting = opened.rangeReadable ? null : plan.sinks.rewrite();
  let at = 0;
  for await (const whole of opened.text) {
    for (const piece of slicesOf(whole)) {
      const skipped = Math.min(piece.length, Math.max(0, detected.firstByte - at));
      at += piece.length;
      if (at > bounds.bytes)
        return problem(
          "bulk_too_large",
          `A list of the team may have ${bounds.bytes} bytes${whenRead(opened.form)}; this one has more.`,
        );
      const refused = await reader.read(piece, skipped);
      if (refused !== undefined) return refused;
      if (rewriting !== null) await rewriting.write(piece);
      await turn();
      cancelled.throwIfAborted();
    }
  }
  return reader.end();
}

function* slicesOf(piece: Buffer): Generator<Buffer> {
  const { analysisTurnBytes } = LIMITS.bulk;
  for (let from = 0; from < piece.length; from += analysisTurnBytes)
    yield piece.subarray(from, from + analysisTurnBytes);
}

function noAddress({ header, emailColumn, encoding }: DetectedLayout, rows: number): Refusal {
  const name = header?.[emailColumn];
  const which = `column ${emailColumn}, counted from 0${name === undefined ? "" : `, ${shown(textIn(name, encoding))}`}`;
  return problem("no_email_column", `None of the ${rows} rows has an email address in ${which}.`);
}

/** The address cells of rows that were found and not looked at, as places: of each piece that is read, its rows'. */
class FoundCells {
  readonly #bytes: Buffer[] = [];
  readonly #ends: number[] = [];
  readonly #place: ValuePlace = { bytes: Buffer.alloc(0), from: 0, to: 0 };

  count(): number {
    return this.#bytes.length;
  }

  add(cell: ValuePlace): void {
    this.#bytes.push(cell.bytes);
    this.#ends.push(cell.from, cell.to);
  }

  /** One and the same object each time. */
  at(number: number): ValuePlace {
    const place = this.#place;
    place.bytes = this.#bytes[number] as Buffer;
    place.from = this.#ends[2 * number] as number;
    place.to = this.#ends[2 * number + 1] as number;
    return place;
  }

  clear(): void {
    this.#bytes.length = 0;
    this.#ends.length = 0;
  }
}

/**
 * A class, as all that a list's rows go through should be: what V8 compiles of a closure it drops with the last one, and of a list
 * whose closures are its own compiles all of them anew.
 */
class RowReader {
  readonly #opened: OpenedText;
  readonly #detected: DetectedTable;
  readonly #rowsMax: number;
  readonly #sinks: AnalysisSinks;
  readonly #cutter = createChunkCutter();
  readonly #found = new FoundCells();
  readonly #text = new SourceText();
  readonly #tableEnd: TableEnd;
  readonly #scanner: RecordScanner;
  #width: number;
  #rows = 0;
  #malformed = 0;
  #empty = 0;
  /** Of the malformed ones. */
  #several = 0;

  constructor({ opened, detected, bounds, sinks }: Plan) {
    const { layout, firstByte, shape } = detected;
    const { recordBytes, columns } = LIMITS.bulk;
    const place = { firstByte, bytesOf: bytesOf(opened.form) };
    this.#opened = opened;
    this.#detected = detected;
    this.#rowsMax = bounds.rows;
    this.#sinks = sinks;
    this.#width = layout.header?.length ?? 0;
    this.#tableEnd = new TableEnd(
      tableWidth(layout.header, detected.rows),
      firstByte,
      this.#text,
      (start, end, fields, address) => this.#note(start, end, fields, address),
    );
    this.#scanner = createRecordScanner(
      {
        ...layout,
        recordBytes,
        columns,
        ...place,
        ...(opened.sheet === null ? { judge: quoteJudge(layout, shape) } : {}),
      },
      (start, end, fields, address) => this.#tableEnd.take(start, end, fields, address),
    );
  }

  #note(start: number, end: number, fields: number, address: ValuePlace): void {
    this.#cutter.add(start, end, address);
    if (fields > this.#width) this.#width = fields;
    this.#found.add(address);
  }

  /** Of a cell that has to be read as text. @returns as RepeatFinder.add */
  #takeText(cell: string): Promise<void> | null {
    const reading = addressesIn(textIn(cell, this.#detected.layout.encoding));
    this.#sinks.inspect?.(reading);
    if (reading.kind !== "one") {
      if (reading.kind === "empty") this.#empty += 1;
      else this.#malformed += 1;
      if (reading.kind === "several") this.#several += 1;
      return null;
    }
    const { address } = reading;
    const key = Buffer.from(address.cacheKey);
    return this.#sinks.repeats.add(this.#rows, key, 0, key.length);
  }

  #take(cell: ValuePlace): Promise<void> | null {
    const { repeats, inspect } = this.#sinks;
    const kind = inspect === undefined ? kindOfCell(cell) : UNSURE;
    if (kind === PLAIN) return repeats.add(this.#rows, cell.bytes, cell.from, cell.to);
    if (kind === UNSURE) return this.#takeText(valueAt(cell));
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

  /** @param skipped so many bytes of the piece stand above the first row */
  async read(piece: Buffer, skipped: number): Promise<Refusal | undefined> {
    this.#text.push(piece);
    const broken = this.#scanner.push(piece.subarray(skipped));
    return broken === undefined ? this.#takeRows() : { ok: false, ...broken };
  }

  async end(): Promise<ScannedSource | Refusal> {
    const broken = this.#scanner.end();
    if (broken !== undefined) return { ok: false, ...broken };
    const refused = await this.#takeRows();
    if (refused !== undefined) return refused;
    const rows = this.#rows;
    const malformed = this.#malformed;
    const empty = this.#empty;
    if (rows === 0) return problem("empty_source", "The file has a header and no rows.");
    if (malformed === rows - empty && this.#several === 0 && malformed >= ROWS_TO_JUDGE)
      return noAddress(this.#detected.layout, rows);
    const { candidates } = this.#detected;
    const { tolerated, form } = this.#opened;
    const warnings = [...this.#detected.warnings, ...tolerated.warnings(bytesOf(form))];
    const above = this.#detected.columns.skipped_lines;
    const columns = { ...this.#detected.columns, skipped_lines: [...above, ...this.#tableEnd.end()] };
    const layout = { ...this.#detected.layout, columns: this.#width };
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
    return { ok: true, ...found, rewritten: !this.#opened.rangeReadable };
  }
}

import type { SkippedLine } from "../analysis/layout.ts";
import { toText } from "./field.ts";
import { isRule } from "./header-row.ts";
import { lineText } from "./skipped-lines.ts";
import type { SourceText } from "./source-text.ts";
import type { ValuePlace } from "./value-place.ts";

/** A footer has no more lines than this; more of them are rows of a ragged table. */
const FOOTER_LINES = 20;
const FOOTER_BYTES = 2_000;

const AT = 0x40;

/** Words at the start of lines below a table. */
const FOOTER_WORDS =
  /^[\s"']*(?:(?:grand )?totals?\b|sub-?total|sum\b|summe\b|gesamt|somme\b|total\b|totaal|totale|suma\b|razem|celkem|итого|всего|合計|总计|總計|합계|records?\b|rows?\b|count\b|generated\b|exported\b|erstellt\b|exportiert\b|copyright|\(c\)|©|confidential|end of\b|page \d|source:|report\b)/i;

/** A number of rows as psql and sqlcmd write it. It is not a row, even in a list of one column; nor is a rule. */
const ROW_COUNT = /^\s*\(\d+ rows?(?: affected)?\)\s*$/;
const PRINTED_STARTS = new Set(Buffer.from("(+-="));

/** Words, or a name and a value: "3 records", "Confidential - Do Not Distribute", "Total: 3". One word may be a name. */
const PROSE = /\p{L}.*[\s:].*[\p{L}\p{N}]|\p{N}.*\s.*\p{L}/su;

/** A row as the scanner found it. */
export interface FoundRow {
  start: number;
  end: number;
  fields: number;
  address: ValuePlace;
}

type Sink = (start: number, end: number, fields: number, address: ValuePlace) => void;

interface HeldLine extends FoundRow {
  line: number;
  text: string;
}

/** Number of fields of a table's rows: that of the header, if a row has as many, else that of most rows. */
export function tableWidth(header: readonly string[] | null, rows: readonly string[][]): number {
  if (header !== null && (rows.length === 0 || rows.some(({ length }) => length >= header.length)))
    return header.length;
  const counts = new Map<number, number>();
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1);
  return [...counts].reduce(
    (best, next) => (next[1] > best[1] || (next[1] === best[1] && next[0] > best[0]) ? next : best),
    [1, 0],
  )[0];
}

/**
 * Separates the lines below a table from its rows: short lines without an address behind the last row, if the table's rows
 * are not short. They are held back. A row that follows makes rows of them, since a ragged table has short rows.
 */
export class TableEnd {
  readonly #width: number;
  readonly #text: SourceText;
  readonly #sink: Sink;
  #held: HeldLine[] = [];
  #isRagged = false;
  #lastEnd: number;

  /** @param firstByte where the first row may begin */
  constructor(width: number, firstByte: number, text: SourceText, sink: Sink) {
    this.#width = width;
    this.#text = text;
    this.#sink = sink;
    this.#lastEnd = firstByte;
  }

  /** The next record; the sink receives those that are rows. */
  take(start: number, end: number, fields: number, address: ValuePlace): void {
    if (this.#mayEnd(fields, address) && this.#hold(start, end, fields, address)) return;
    this.#release();
    if (fields < this.#width) this.#isRagged = true;
    this.#lastEnd = end;
    this.#sink(start, end, fields, address);
  }

  /** True when the record may be a line below the table. */
  #mayEnd(fields: number, { bytes, from, to }: ValuePlace): boolean {
    if (this.#width > 1) return !this.#isRagged && fields < this.#width;
    return from < to && PRINTED_STARTS.has(bytes[from] as number);
  }

  #hold(start: number, end: number, fields: number, address: ValuePlace): boolean {
    const before = this.#held.at(-1)?.end ?? this.#lastEnd;
    const bytes = end - start <= FOOTER_BYTES ? this.#text.between(start, end) : undefined;
    if (bytes === undefined || this.#held.length === FOOTER_LINES || bytes.includes(AT)) return false;
    const text = toText(bytes.toString("latin1"));
    const isApart = start > before || this.#held.length > 0;
    const isPrinted = ROW_COUNT.test(text) || isRule([text]);
    if (!isPrinted && this.#width < 2) return false;
    if (!isPrinted && !FOOTER_WORDS.test(text) && (fields > 1 || !(isApart || PROSE.test(text))))
      return false;
    const value = Buffer.from(address.bytes.subarray(address.from, address.to));
    const kept = { bytes: value, from: 0, to: value.length };
    this.#held.push({
      start,
      end,
      fields,
      address: kept,
      line: this.#text.lineAt(start),
      text: lineText(bytes),
    });
    return true;
  }

  /** The held lines are rows. */
  #release(): void {
    if (this.#held.length === 0) return;
    this.#isRagged = true;
    for (const { start, end, fields, address } of this.#held) this.#sink(start, end, fields, address);
    this.#held = [];
  }

  /** No record comes any more. @returns the lines below the table */
  end(): SkippedLine[] {
    return this.#held.map(({ line, text }) => ({ line, text, reason: isRule([text]) ? "rule" : "footer" }));
  }
}

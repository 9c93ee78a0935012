import { codeAt } from "../../../platform/v8/code-at.ts";
import type { TemplatedRow } from "../../verify/batch/fill-rows.ts";
import type { RowTemplate } from "../../verify/batch/row-templates.ts";
import { RowBuffer } from "../analysis/row-buffer.ts";

/**
 * Bytes of a templated row in a shard, before its address: its offset (u16), template, times, latency (u32 each), bytes of the
 * address and of the normal form behind it (u16 each; 0: the address is its own normal form).
 */
export const TEMPLATED_HEAD_BYTES = 2 + 4 + 4 + 4 + 2 + 2;

/** Approximate bytes of a row. */
const ROW_BYTES = 48;

/**
 * Rows of a chunk whose results are filled templates, as bytes, one row after the other, with their common data. The
 * layout is that of a shard (templated-part.ts). A chunk has thousands of them and a few templates. An object for each row, or
 * its strings in columns, cost 2 us a row. Collecting them cost more, since all of them live as long as their chunk takes.
 */
export class TemplatedRows {
  /** Each row's number of its template and of its times are places in these. */
  readonly templates: RowTemplate[] = [];
  readonly times: string[] = [];
  /** Number of rows of each template. */
  readonly rowsOf: number[] = [];
  size = 0;
  readonly #rows: RowBuffer;
  readonly #templateNumbers = new Map<RowTemplate, number>();
  readonly #timesNumbers = new Map<string, number>();
  #lastTemplate: RowTemplate | null = null;
  #lastNumber = 0;
  #lastTimes = "";
  #lastTimesNumber = -1;

  /** @param rows expected number; there may be more */
  constructor(rows = 16) {
    this.#rows = new RowBuffer(rows * ROW_BYTES);
  }

  /** @param offset each once */
  add(offset: number, { template, email, normalized, latencyMs, times }: TemplatedRow): void {
    const number = this.#templateNumber(template);
    this.rowsOf[number] = (this.rowsOf[number] ?? 0) + 1;
    this.size += 1;
    const { length } = email;
    const more = normalized.length;
    const to = this.#rows.reserve(TEMPLATED_HEAD_BYTES + length + more);
    let at = writeHead(to, this.#rows.at, offset, number, this.#timesNumber(times), latencyMs, length, more);
    // For so few bytes a call takes longer than the loop.
    for (let i = 0; i < length; i++) to[at++] = codeAt(email, i);
    for (let i = 0; i < more; i++) to[at++] = codeAt(normalized, i);
    this.#rows.at = at;
  }

  /** The rows as a shard has them. */
  get bytes(): Uint8Array {
    return this.#rows.bytes.subarray(0, this.#rows.at);
  }

  /** The same, with the row's template alone. */
  eachTemplate(onRow: (offset: number, template: RowTemplate) => void): void {
    const { bytes, at: end } = this.#rows;
    for (
      let at = 0;
      at < end;
      at += TEMPLATED_HEAD_BYTES + bytes.readUInt16BE(at + 14) + bytes.readUInt16BE(at + 16)
    )
      onRow(bytes.readUInt16BE(at), this.templates[bytes.readUInt32BE(at + 2)] as RowTemplate);
  }

  /** Calls it for each row, in the order in which they were added. */
  each(onRow: (offset: number, row: TemplatedRow) => void): void {
    const { bytes } = this.#rows;
    let at = 0;
    this.eachTemplate((offset, template) => {
      const from = at + TEMPLATED_HEAD_BYTES;
      const to = from + bytes.readUInt16BE(at + 14);
      const end = to + bytes.readUInt16BE(at + 16);
      const times = this.times[bytes.readUInt32BE(at + 6)] ?? "";
      const email = bytes.toString("latin1", from, to);
      const normalized = bytes.toString("latin1", to, end);
      onRow(offset, { template, email, normalized, latencyMs: bytes.readUInt32BE(at + 10), times });
      at = end;
    });
  }

  #templateNumber(template: RowTemplate): number {
    // Rows of a list have few different answers, often the same several times in a row.
    if (template === this.#lastTemplate) return this.#lastNumber;
    const number = this.#numberOf(template);
    this.#lastTemplate = template;
    this.#lastNumber = number;
    return number;
  }

  #numberOf(template: RowTemplate): number {
    const known = this.#templateNumbers.get(template);
    if (known !== undefined) return known;
    const number = this.templates.push(template) - 1;
    this.rowsOf.push(0);
    this.#templateNumbers.set(template, number);
    return number;
  }

  /** Rows that were learnt together follow each other, with one and the same string. */
  #timesNumber(times: string): number {
    if (times === this.#lastTimes && this.#lastTimesNumber >= 0) return this.#lastTimesNumber;
    let number = this.#timesNumbers.get(times);
    if (number === undefined) {
      number = this.times.push(times) - 1;
      this.#timesNumbers.set(times, number);
    }
    this.#lastTimes = times;
    this.#lastTimesNumber = number;
    return number;
  }
}

/** Writes the fixed part before a row's address. @returns the index behind it */
function writeHead(
  to: Uint8Array,
  start: number,
  offset: number,
  template: number,
  times: number,
  latencyMs: number,
  length: number,
  normalizedLength: number,
): number {
  let at = writeNumber16(to, start, offset);
  at = writeNumber32(to, at, template);
  at = writeNumber32(to, at, times);
  at = writeNumber32(to, at, latencyMs);
  at = writeNumber16(to, at, length);
  return writeNumber16(to, at, normalizedLength);
}

/** Big-endian, as all of a shard. @returns where it ends */
function writeNumber16(to: Uint8Array, at: number, number: number): number {
  to[at] = number >>> 8;
  to[at + 1] = number;
  return at + 2;
}

function writeNumber32(to: Uint8Array, at: number, number: number): number {
  to[at] = number >>> 24;
  to[at + 1] = number >>> 16;
  to[at + 2] = number >>> 8;
  to[at + 3] = number;
  return at + 4;
}

import { LIMITS } from "../../../config/limits/limits.ts";
import type { Verdict } from "../../../verification/verdict/table.ts";
import { JSON_START, type RowTemplate } from "../../verify/batch/row-templates.ts";
import type { CellStyle } from "../analysis/layout.ts";
import type { RowBuffer } from "../analysis/row-buffer.ts";
import { RowResult, renderCells } from "./result-cells.ts";
import { TEMPLATED_HEAD_BYTES, type TemplatedRows } from "./templated-rows.ts";

/*
 * The part of a shard that has templated rows: results that are a filled template. Numbers are big-endian.
 *
 * MARK, VERSION; the number of texts (u32), each with its bytes before it (u32); the number of templates (u32), each its
 * verdict (u8) and five texts (u32 each); the number of rows (u32), each its offset (u16), template (u32), times, a text
 * (u32), latency (u32), the bytes of its address and of its normal form (u16 each), and these two. All is latin1, and ASCII
 * but for cells.
 *
 * Version 1, which workers of an earlier build write, has no normal forms: four texts a template, and a row's address alone.
 */

/** First byte of the part. Frames of shard.ts, which begin with an offset, and gzip files never begin with it. */
const MARK = 0xff;
const VERSION = 2;
const WITHOUT_NORMALIZED = 1;
/** Bytes of a row of version 1, before its address. */
const OLD_HEAD_BYTES = TEMPLATED_HEAD_BYTES - 2;
const HEAD_BYTES = 2;
const TEMPLATE_BYTES = 1 + 5 * 4;

/** Texts of a template, as a job's shards have them: places in the shard. */
interface TemplateTexts {
  verdict: Verdict;
  cellsStart: Buffer;
  cellsEnd: Buffer;
  afterEmail: Buffer;
  /** Empty: the results have no normal form. */
  afterNormalized: Buffer;
  afterLatency: Buffer;
}

/** Position of the lengths within a row. */
const LENGTHS_AT = 14;
const NO_TEXT = Buffer.alloc(0);
/** Behind the brace. */
const MEMBERS_START = Buffer.from(JSON_START.slice(1));

/** A result of such a row. Its parts are put together when they are read. */
export class TemplatedResult extends RowResult {
  readonly #template: TemplateTexts;
  readonly #shard: Buffer;
  /** Place of the address in the shard. */
  readonly #from: number;
  readonly #to: number;
  /** End of the normal form behind the address; as `#to`: the address is its own normal form. */
  readonly #end: number;
  readonly #latencyMs: number;
  readonly #times: Buffer;

  constructor(
    template: TemplateTexts,
    shard: Buffer,
    from: number,
    to: number,
    end: number,
    latencyMs: number,
    times: Buffer,
  ) {
    super();
    this.#template = template;
    this.#shard = shard;
    this.#from = from;
    this.#to = to;
    this.#end = end;
    this.#latencyMs = latencyMs;
    this.#times = times;
  }

  get verdict(): Verdict {
    return this.#template.verdict;
  }

  writeCells(to: RowBuffer): void {
    to.all(this.#template.cellsStart);
    to.part(this.#shard, this.#from, this.#to);
    to.all(this.#template.cellsEnd);
  }

  writeMembers(to: RowBuffer): void {
    const { afterEmail, afterNormalized, afterLatency } = this.#template;
    to.all(MEMBERS_START);
    to.part(this.#shard, this.#from, this.#to);
    to.all(afterEmail);
    if (afterNormalized.length > 0) {
      if (this.#end > this.#to) to.part(this.#shard, this.#to, this.#end);
      else to.part(this.#shard, this.#from, this.#to);
      to.all(afterNormalized);
    }
    to.number(this.#latencyMs);
    to.all(afterLatency);
    to.all(this.#times);
  }
}

/** Cells of templates in each style, rendered once, since many shards have rows of the same templates. */
const cells = new WeakMap<RowTemplate, Map<string, TemplateCells>>();

interface TemplateCells {
  cellsStart: string;
  cellsEnd: string;
}

/** The cells before the address, and those after it; the address is written unchanged. */
function cellsOf(template: RowTemplate, style: CellStyle): TemplateCells {
  const { delimiter, escapedBy, quotes, encoding, escapeFormulas } = style;
  const key = [delimiter, escapedBy, quotes, encoding, escapeFormulas].join(" ");
  let ofStyles = cells.get(template);
  if (ofStyles === undefined) {
    ofStyles = new Map();
    cells.set(template, ofStyles);
  }
  let found = ofStyles.get(key);
  if (found === undefined) {
    found = cutCells(template, style);
    ofStyles.set(key, found);
  }
  return found;
}

function cutCells({ result }: RowTemplate, style: CellStyle): TemplateCells {
  const cells = renderCells(result, style);
  // Verdict, reason and score hold no delimiter that a list has: words and digits.
  const before = renderCells({ ...result, email: "" }, style);
  let at = 0;
  while (at < before.length && cells[at] === before[at]) at += 1;
  return { cellsStart: cells.slice(0, at), cellsEnd: cells.slice(at + result.email.length) };
}

/** Texts, each once. */
function createTexts() {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  let bytes = 0;
  return {
    texts,
    get bytes() {
      return bytes;
    },
    numberOf(text: string): number {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, texts.length);
      bytes += 4 + text.length;
      return texts.push(text) - 1;
    },
  };
}

/** @param rows each offset once @param verdicts in the order of their numbers */
export function encodeTemplated(rows: TemplatedRows, style: CellStyle, verdicts: readonly Verdict[]): Buffer {
  const { templates, times, bytes: rowBytes } = rows;
  const texts = createTexts();
  // They come first, each once: the rows have their numbers.
  for (const text of times) texts.numberOf(text);
  const heads = templates.map((template) => {
    const { cellsStart, cellsEnd } = cellsOf(template, style);
    const { afterEmail, afterNormalized, afterLatency } = template;
    const parts = [cellsStart, cellsEnd, afterEmail, afterNormalized, afterLatency];
    return [verdicts.indexOf(template.result.verdict), ...parts.map((part) => texts.numberOf(part))];
  });
  const size = HEAD_BYTES + 12 + texts.bytes + heads.length * TEMPLATE_BYTES + rowBytes.length;
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = MARK;
  bytes[1] = VERSION;
  let at = bytes.writeUInt32BE(texts.texts.length, HEAD_BYTES);
  for (const text of texts.texts) {
    at = bytes.writeUInt32BE(text.length, at);
    at += bytes.write(text, at, "latin1");
  }
  at = bytes.writeUInt32BE(heads.length, at);
  for (const [verdict = 0, ...parts] of heads) {
    at = bytes.writeUInt8(verdict, at);
    for (const part of parts) at = bytes.writeUInt32BE(part, at);
  }
  at = bytes.writeUInt32BE(rows.size, at);
  bytes.set(rowBytes, at);
  return bytes;
}

export function isTemplatedPart(content: Buffer): boolean {
  return content[0] === MARK;
}

/** A shard of a form that this build does not know: a newer one wrote it, and its workers can read it. */
export class UnknownShardForm extends Error {
  override name = "UnknownShardForm";
}

/** Reads what `encodeTemplated` wrote. @throws UnknownShardForm; Error when it did not */
class Reader {
  readonly bytes: Buffer;
  readonly version: number;
  at = HEAD_BYTES;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    const version = bytes[1] ?? 0;
    this.version = version;
    if (version > VERSION) throw new UnknownShardForm(`a shard of version ${version} cannot be read`);
    if (version < WITHOUT_NORMALIZED)
      throw new Error("a shard ends within its head, or has a version that never was");
  }

  /** @param size 1, 2 or 4 bytes */
  number(size: number): number {
    if (this.at + size > this.bytes.length) throw new Error("a shard ends within its templates");
    let value = 0;
    for (const end = this.at + size; this.at < end; this.at++)
      value = value * 256 + (this.bytes[this.at] as number);
    return value;
  }

  skip(length: number): void {
    this.at += length;
    if (this.at > this.bytes.length) throw new Error("a shard ends within a text");
  }

  text(length: number): Buffer {
    const from = this.at;
    this.skip(length);
    return this.bytes.subarray(from, this.at);
  }

  /** One of `of`, by its number. */
  oneOf<T>(of: readonly T[], size = 4): T {
    const found = of[this.number(size)];
    if (found === undefined) throw new Error("a shard names what it does not have");
    return found;
  }

  many<T>(read: () => T): T[] {
    const count = this.number(4);
    const all: T[] = [];
    for (let i = 0; i < count; i++) all.push(read());
    return all;
  }
}

export interface TemplatedPart {
  readonly size: number;
  get(offset: number): TemplatedResult | undefined;
  /** Index behind it. */
  readonly end: number;
}

/** @throws UnknownShardForm; Error when it is not what `encodeTemplated` wrote */
export function readTemplated(content: Buffer, verdicts: readonly Verdict[]): TemplatedPart {
  const reader = new Reader(content);
  const isOld = reader.version === WITHOUT_NORMALIZED;
  const headBytes = isOld ? OLD_HEAD_BYTES : TEMPLATED_HEAD_BYTES;
  const texts = reader.many(() => reader.text(reader.number(4)));
  const templates = reader.many((): TemplateTexts => {
    const verdict = reader.oneOf(verdicts, 1);
    const [cellsStart, cellsEnd] = [reader.oneOf(texts), reader.oneOf(texts)];
    return {
      verdict,
      cellsStart,
      cellsEnd,
      afterEmail: reader.oneOf(texts),
      afterNormalized: isOld ? NO_TEXT : reader.oneOf(texts),
      afterLatency: reader.oneOf(texts),
    };
  });
  /** 1 + the position of each row; 0: there is no such row. */
  const places = new Uint32Array(LIMITS.bulk.rowsPerLargeChunk);
  const size = reader.number(4);
  let at = reader.at;
  for (let i = 0; i < size; i++) {
    const end = at + headBytes;
    if (end > content.length) throw new Error("a shard ends within a row");
    const offset = number16(content, at);
    if (places[offset] !== 0) throw new Error(`a shard has a row of offset ${offset} that cannot be`);
    places[offset] = at + 1;
    at = end + number16(content, at + LENGTHS_AT) + (isOld ? 0 : number16(content, end - 2));
  }
  if (at > content.length) throw new Error("a shard ends within a row");
  return {
    size,
    end: at,
    get(offset) {
      const place = places[offset] ?? 0;
      return place === 0 ? undefined : templatedAt(content, place - 1, headBytes, templates, texts);
    },
  };
}

/** The row at `at`, all of which is there. */
function templatedAt(
  content: Buffer,
  at: number,
  headBytes: number,
  templates: readonly TemplateTexts[],
  texts: readonly Buffer[],
): TemplatedResult {
  const template = templates[number32(content, at + 2)];
  const times = texts[number32(content, at + 6)];
  if (template === undefined || times === undefined) throw new Error("a shard names what it does not have");
  const from = at + headBytes;
  const to = from + number16(content, at + LENGTHS_AT);
  const end = headBytes === OLD_HEAD_BYTES ? to : to + number16(content, from - 2);
  return new TemplatedResult(template, content, from, to, end, number32(content, at + 10), times);
}

/** Reads a big-endian number. Buffer's own methods check their arguments, which costs as much again. */
function number16(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

function number32(bytes: Buffer, at: number): number {
  return ((number16(bytes, at) << 16) | number16(bytes, at + 2)) >>> 0;
}

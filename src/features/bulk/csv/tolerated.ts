import type { SourceWarning } from "../analysis/layout.ts";

const NUL = 0x00;
const CTRL_Z = 0x1a;
const LF = 0x0a;
const CR = 0x0d;

/** Maximum alternations of different bytes at an end of a text: more are not padding. */
const RUNS_MAX = 1_000;
/** Bytes passed on at once of a run that turns out to be text. */
const RUN_PIECE_BYTES = 65_536;

/** Irregularities that were tolerated in a source. Complete when its text has been read. */
export class Tolerated {
  /** Behind the members of a gzip file. */
  gzipZeros = 0;
  /** A last byte that is half of a character of UTF-16. */
  hasOddByte = false;
  /** NULs within the text: number, and position of the first. */
  nuls = 0;
  firstNulAt = 0;
  /** At its end. */
  paddingNuls = 0;
  hasCtrlZ = false;

  /** @param bytesOf what bytes are counted of (text-form.ts) */
  warnings(bytesOf: string): SourceWarning[] {
    const found: SourceWarning[] = [];
    const add = (code: string, detail: string) => found.push({ code, detail });
    const bytes = (count: number, kind: string) => `${count} ${kind} byte${count === 1 ? "" : "s"}`;
    if (this.nuls > 0)
      add(
        "nul_bytes",
        `The list holds ${bytes(this.nuls, "NUL")}, the first at byte ${this.firstNulAt}${bytesOf}: kept as they are.`,
      );
    if (this.paddingNuls > 0)
      add("nul_padding", `${bytes(this.paddingNuls, "NUL")} at the end of the list: ignored.`);
    if (this.hasCtrlZ)
      add("ctrl_z", "A Ctrl-Z (byte 1A), the end of a file in DOS, at the end of the list: ignored.");
    if (this.hasOddByte) add("odd_byte", "The last byte is half of a character of UTF-16: ignored.");
    if (this.gzipZeros > 0)
      add("gzip_padding", `${bytes(this.gzipZeros, "zero")} behind the compressed data: ignored.`);
    return found;
  }
}

/** Bytes at an end, the same ones counted. */
type Run = [byte: number, count: number];

function* bytesOfRuns(runs: readonly Run[]): Generator<Buffer> {
  for (const [byte, count] of runs)
    for (let left = count; left > 0; left -= RUN_PIECE_BYTES)
      yield Buffer.alloc(Math.min(left, RUN_PIECE_BYTES), byte);
}

function addRuns(runs: Run[], bytes: Buffer): void {
  for (const byte of bytes) {
    const last = runs.at(-1);
    if (last?.[0] === byte) last[1] += 1;
    else runs.push([byte, 1]);
  }
}

/** Index at which an end of the text may begin: from a byte of `starts` on, all bytes are of `starts` or `others`. */
function endOf(
  bytes: Buffer,
  isBegun: boolean,
  starts: readonly number[],
  others: readonly number[],
): number {
  let at = bytes.length;
  while (at > 0 && (starts.includes(bytes[at - 1] as number) || others.includes(bytes[at - 1] as number)))
    at -= 1;
  if (at === 0 && isBegun) return 0;
  while (at < bytes.length && !starts.includes(bytes[at] as number)) at += 1;
  return at;
}

/**
 * A text without the NULs and the Ctrl-Z at its end, and without the line ends among them. NULs elsewhere are counted. Memory: a
 * run of the same bytes is a number.
 */
export async function* withoutPadding(
  input: AsyncGenerator<Buffer>,
  tolerated: Tolerated,
): AsyncGenerator<Buffer, void, undefined> {
  let runs: Run[] = [];
  let given = 0;
  const count = (piece: Buffer): Buffer => {
    for (let at = piece.indexOf(NUL); at >= 0; at = piece.indexOf(NUL, at + 1)) {
      if (tolerated.nuls === 0) tolerated.firstNulAt = given + at;
      tolerated.nuls += 1;
    }
    given += piece.length;
    return piece;
  };
  for await (const piece of input) {
    const end = endOf(piece, runs.length > 0, [NUL, CTRL_Z], [CR, LF]);
    if (end > 0 || runs.length > RUNS_MAX) {
      for (const held of bytesOfRuns(runs)) yield count(held);
      runs = [];
      if (end > 0) yield count(piece.subarray(0, end));
    }
    addRuns(runs, piece.subarray(end));
  }
  for (const [byte, length] of runs) {
    if (byte === NUL) tolerated.paddingNuls += length;
    if (byte === CTRL_Z) tolerated.hasCtrlZ = true;
  }
}

/**
 * Maximum zeros at the end of a gzip file that may belong to it: to its trailer (RFC 1952 §2.3.1), or to uncompressed
 * zeros.
 */
const OWN_ZEROS_MAX = 1_048_576;

/** Zeros at the end of a gzip file. */
export interface TrailingZeros {
  /** Bytes before them. */
  before: number;
  /** null: its end has not been read. */
  count: number | null;
}

/** A gzip file with no more zeros at its end than may be its own; `zeros` receives their number. */
export async function* withoutZeros(
  input: AsyncGenerator<Buffer>,
  zeros: TrailingZeros,
): AsyncGenerator<Buffer, void, undefined> {
  let runs: Run[] = [];
  for await (const piece of input) {
    const end = endOf(piece, runs.length > 0, [NUL], []);
    if (end > 0) {
      yield* bytesOfRuns(runs);
      zeros.before += end + (runs[0]?.[1] ?? 0);
      runs = [];
      yield piece.subarray(0, end);
    }
    addRuns(runs, piece.subarray(end));
  }
  const count = runs[0]?.[1] ?? 0;
  zeros.count = count;
  yield* bytesOfRuns([[NUL, Math.min(count, OWN_ZEROS_MAX)]]);
}

import { mailboxRulesOf } from "../../../verification/mailbox/rules.ts";
import type { ValuePlace } from "./value-place.ts";

/**
 * The kind of a cell, decided by its bytes alone. `PLAIN_CELL`: an address that is verified unchanged and is its own cache
 * key. `NO_ADDRESS_CELL`: characters of a local part without an `@`, such as a name or a number. `UNSURE_CELL`:
 * `readAddresses` must decide. A test compares the first two with it. Nearly all cells of a list are one of the first two,
 * and take a tenth of the time of `readAddresses`.
 */
export const UNSURE_CELL = 0;
export const PLAIN_CELL = 1;
export const NO_ADDRESS_CELL = 2;
export type CellKind = typeof UNSURE_CELL | typeof PLAIN_CELL | typeof NO_ADDRESS_CELL;

const AT = 0x40;
const DOT = 0x2e;
const LOCAL_MAX = 64;
const LABEL_MAX = 63;
const ADDRESS_MAX = 254;

/** By byte. */
const LOWER = 1;
const DIGIT = 2;
const UPPER = 4;
const HYPHEN = 8;
/** Further ones of local parts. */
const OTHER = 16;
const ALPHANUMERIC = LOWER | DIGIT | UPPER;
const IN_LOCAL = ALPHANUMERIC | HYPHEN | OTHER;

const kinds = new Uint8Array(256);
for (const [characters, kind] of [
  ["abcdefghijklmnopqrstuvwxyz", LOWER],
  ["0123456789", DIGIT],
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZ", UPPER],
  ["-", HYPHEN],
  ["_+", OTHER],
] as const)
  for (const byte of Buffer.from(characters)) kinds[byte] = kind;

export function kindOfCell({ bytes, from, to }: ValuePlace): CellKind {
  // Very short and very long cells are few: `readAddresses` judges them.
  if (to - from < 2 || to - from > ADDRESS_MAX) return UNSURE_CELL;
  if (((kinds[bytes[from] as number] as number) & ALPHANUMERIC) === 0) return UNSURE_CELL;
  let isAfterDot = false;
  let seen = 0;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    const kind = kinds[byte] as number;
    seen |= kind;
    if ((kind & IN_LOCAL) !== 0) isAfterDot = false;
    else if (byte === DOT && !isAfterDot) isAfterDot = true;
    else if (byte !== AT || isAfterDot || i - from > LOCAL_MAX) return UNSURE_CELL;
    else if (!isPlainDomain(bytes, i + 1, to)) return UNSURE_CELL;
    else return (seen & UPPER) !== 0 && ignoresCase(bytes, i + 1, to) ? UNSURE_CELL : PLAIN_CELL;
  }
  return ((kinds[bytes[to - 1] as number] as number) & ALPHANUMERIC) === 0 ? UNSURE_CELL : NO_ADDRESS_CELL;
}

/** Then the key is in lower case. Few rows are asked for it. */
function ignoresCase(bytes: Buffer, from: number, to: number): boolean {
  return mailboxRulesOf(bytes.toString("latin1", from, to)) !== null;
}

/**
 * True for two labels or more, in lower case, without two adjacent hyphens, which A-labels have. The last label begins with
 * a letter.
 */
function isPlainDomain(bytes: Buffer, from: number, to: number): boolean {
  let labelAt = from;
  let before = HYPHEN;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    const kind = kinds[byte] as number;
    if ((kind & (LOWER | DIGIT)) !== 0) before = kind;
    else if (before === HYPHEN) return false;
    else if (kind === HYPHEN) before = HYPHEN;
    else if (byte === DOT && i - labelAt <= LABEL_MAX) {
      labelAt = i + 1;
      // Nor does a label begin with one.
      before = HYPHEN;
    } else return false;
  }
  if (before === HYPHEN || labelAt === from || to - labelAt < 2 || to - labelAt > LABEL_MAX) return false;
  return kinds[bytes[labelAt] as number] === LOWER;
}

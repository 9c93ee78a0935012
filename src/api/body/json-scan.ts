import { AppError } from "../../platform/errors.ts";

/** Maximum counts of a JSON body. */
export interface JsonBounds {
  /** Arrays and objects within each other. */
  depth: number;
  /** Names in objects, repeated ones included. */
  members: number;
  /** The body itself, items of arrays and values of members. */
  values: number;
  /** Creates the error for too many values; absent: `malformed_json`. */
  tooManyValues?: () => AppError;
}

export interface JsonCounts {
  depth: number;
  members: number;
  values: number;
}

/** Counts what JSON has while its bytes come, and builds nothing. */
export interface JsonScan {
  /** @throws AppError `malformed_json`, or the error of a bound that is exceeded */
  add(piece: Uint8Array): void;
  /** Counts so far. They are right for valid JSON; parsing detects invalid JSON. */
  counts(): JsonCounts;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export function createJsonScan(bounds: JsonBounds): JsonScan {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let values = 1;
  let isInString = false;
  let isEscaped = false;
  /** The last byte that means something began an array or an object: its end would make it an empty one. */
  let isBegun = false;

  /** @returns the place behind the string's end, or the piece's */
  function skipString(piece: Uint8Array, from: number): number {
    for (let i = from; i < piece.length; i++) {
      const byte = piece[i];
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) {
        isInString = false;
        return i + 1;
      }
    }
    return piece.length;
  }

  /** Counts one byte outside strings that is not white space. */
  function take(byte: number): void {
    const wasBegun = isBegun;
    isBegun = false;
    if (byte === QUOTE) isInString = true;
    else if (byte === COMMA) values += 1;
    else if (byte === COLON) members += 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      isBegun = true;
      values += 1;
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (wasBegun) values -= 1;
      depth -= 1;
    }
  }

  function refuse(): never {
    if (deepest > bounds.depth)
      throw new AppError("malformed_json", `The body is nested deeper than ${bounds.depth} levels.`);
    if (members > bounds.members)
      throw new AppError(
        "malformed_json",
        `The body's objects have more than ${bounds.members} names in all.`,
      );
    if (bounds.tooManyValues !== undefined) throw bounds.tooManyValues();
    throw new AppError("malformed_json", `The body has more than ${bounds.values} values.`);
  }

  return {
    add(piece) {
      let i = isInString ? skipString(piece, 0) : 0;
      while (i < piece.length) {
        const byte = piece[i] as number;
        i += 1;
        if (byte <= SPACE) continue;
        take(byte);
        if (isInString) i = skipString(piece, i);
      }
      if (deepest > bounds.depth || members > bounds.members || values > bounds.values) refuse();
    },
    counts: () => ({ depth: deepest, members, values }),
  };
}

import { LIMITS } from "../../config/limits/limits.ts";

/** A part of a file, as the client must send it. */
export interface UploadPart {
  /** Number of the part, from 1. */
  number: number;
  firstByte: number;
  bytes: number;
}

const MIB = 1_048_576;

/**
 * How a file of that size is split into parts; null: it is sent in one request.
 * @param wantedBytes size of each part that the client asks for; null: only a file that is too large for one request is
 *   split. A size with more than LIMITS.uploads.parts parts is raised.
 */
export function partsOf(bytes: number, wantedBytes: number | null): UploadPart[] | null {
  const { singleBytes, partBytes, parts } = LIMITS.uploads;
  if (bytes === 0 || (wantedBytes === null && bytes <= singleBytes)) return null;
  const size = Math.max(wantedBytes ?? partBytes, Math.ceil(bytes / parts / MIB) * MIB);
  return Array.from({ length: Math.ceil(bytes / size) }, (_, i) => ({
    number: i + 1,
    firstByte: i * size,
    bytes: Math.min(size, bytes - i * size),
  }));
}

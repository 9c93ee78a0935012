import { LIMITS } from "../../config/limits/limits.ts";

/** A part of a file, as the client must send it. */
export interface UploadPart {
  /** From 1. */
  number: number;
  firstByte: number;
  bytes: number;
}

const MIB = 1_048_576;

/** How a file of that size is split; null: it goes in one request. */
export function partsOf(bytes: number): UploadPart[] | null {
  const { singleBytes, partBytes, parts } = LIMITS.uploads;
  if (bytes <= singleBytes) return null;
  const size = Math.max(partBytes, Math.ceil(bytes / parts / MIB) * MIB);
  return Array.from({ length: Math.ceil(bytes / size) }, (_, i) => ({
    number: i + 1,
    firstByte: i * size,
    bytes: Math.min(size, bytes - i * size),
  }));
}

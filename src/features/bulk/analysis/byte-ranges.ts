import { AppError } from "../../../platform/errors.ts";

/** What is asked for of an object, as the headers have it; "" where there is none. */
export interface RangeHeaders {
  range: string;
  ifRange: string;
}

/** Bytes of an object, from `firstByte`. */
export interface RequestedRange {
  firstByte: number;
  bytes: number;
}

const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/i;

/**
 * The one range that a `Range` field asks for (RFC 9110, section 14); null: the whole. What is no single range of bytes is
 * ignored, as the RFC allows; so is one with an `If-Range` that does not name this very object.
 * @throws AppError `range_not_satisfiable`
 */
export function parseRange(
  { range, ifRange }: RangeHeaders,
  total: number,
  etag: string,
): RequestedRange | null {
  const match = SINGLE.exec(range.trim());
  if (match === null || (ifRange !== "" && ifRange.trim() !== etag)) return null;
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return null;
  if (first !== "" && last !== "" && Number(last) < Number(first)) return null;
  const suffix = first === "" ? Number(last) : null;
  const firstByte = suffix === null ? Number(first) : Math.max(0, total - suffix);
  const end = suffix !== null || last === "" ? total : Math.min(total, Number(last) + 1);
  if (firstByte >= end)
    throw new AppError("range_not_satisfiable", `There are ${total} bytes.`, {
      headers: { "Content-Range": `bytes */${total}` },
    });
  return { firstByte, bytes: end - firstByte };
}

import { AppError } from "../../../platform/errors.ts";

/** Header fields of a range request; "" when absent. */
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
 * The single range that a `Range` field requests (RFC 9110, section 14); null: the whole object. Other values are ignored,
 * as the RFC allows. So is a range with an `If-Range` that does not name this object.
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

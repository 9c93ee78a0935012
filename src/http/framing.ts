import { AppError } from "../core/errors.ts";

/** uWebSockets.js' request, by what its framing is read from. */
export interface FieldSource {
  forEach(callback: (name: string, value: string) => void): void;
}

function ambiguous(): AppError {
  return new AppError("bad_request", "The length of the request's body is not clear.", {
    headers: { Connection: "close" },
  });
}

/**
 * How long a request's body is by its fields, in bytes: 0 where there is none; null: it comes in chunks.
 *
 * Two lengths are how requests are smuggled past a proxy: whoever sends them is refused and disconnected, whatever he asks
 * for, and nothing that comes behind is served (RFC 9112 §6.3). uWebSockets.js goes by the first field of a name, and by
 * none where that is empty; so each field is looked at.
 * @throws AppError `bad_request`
 */
export function declaredBytes(source: FieldSource): number | null {
  let length: string | null = null;
  let coding: string | null = null;
  let fields = 0;
  source.forEach((name, value) => {
    if (name === "content-length") length = value;
    else if (name === "transfer-encoding") coding = value;
    else return;
    fields++;
  });
  if (fields === 0) return 0;
  if (fields > 1) throw ambiguous();
  if (coding !== null) {
    if ((coding as string).toLowerCase() !== "chunked") throw ambiguous();
    return null;
  }
  if (length === null || !/^\d{1,15}$/.test(length)) throw ambiguous();
  return Number(length);
}

import { LIMITS } from "../../config/limits/limits.ts";
import type { FileBody } from "../../features/uploads/receive.ts";
import { AppError } from "../../platform/errors.ts";
import type { HttpRequest } from "../request/request.ts";
import { withDigests } from "./body-digest.ts";
import { unsupportedCoding } from "./content-coding.ts";
import type { IncomingBody } from "./incoming-body.ts";
import { fileOfForm } from "./multipart.ts";

const FORM = /^[ \t]*multipart\/form-data[ \t]*(?:;|$)/i;
/** Types of bodies that contain a file, or an altered one: `curl -d @file` drops its line ends. */
const WRAPPED = /^[ \t]*(multipart\/[^\s;]+|application\/x-www-form-urlencoded)[ \t]*(?:;|$)/i;
/** Accepted codings: gzip is stored unchanged, since lists in gzip can be read. */
const STORED_CODING = /^[ \t]*(?:identity|x-gzip|gzip)?[ \t]*$/i;

/**
 * The file that a request brings: its body, or the one file of the form that is its body.
 * @throws AppError `unsupported_media_type`; `bad_request` of a part of a file, a malformed digest, a form without boundary
 */
export function fileBodyOf(headers: HttpRequest["headers"], body: IncomingBody): FileBody {
  if (headers["content-range"] !== undefined)
    throw new AppError("bad_request", "Content-Range is not taken: send the whole file in one request.");
  if (!STORED_CODING.test(headers["content-encoding"] ?? "")) throw unsupportedCoding();
  const check = withDigests(headers);
  const type = headers["content-type"] ?? "";
  if (FORM.test(type)) return formBody(type, body, check);
  const [, wrapped] = WRAPPED.exec(type) ?? [];
  if (wrapped !== undefined)
    throw new AppError(
      "unsupported_media_type",
      `A body of ${wrapped.toLowerCase().slice(0, 60)} is not the file itself. Send its bytes: ` +
        "`curl -T list.csv -H 'Authorization: Bearer KEY' URL/v1/uploads/list.csv`; a form with one file is taken too " +
        "(`curl -X PUT -F file=@list.csv`).",
    );
  return {
    declaredBytes: body.declaredBytes,
    read: (limitBytes, tooLong) => check(body.read(limitBytes, tooLong)),
  };
}

/** The limit applies to the file; the rest of the form has a limit of its own. */
function formBody(type: string, body: IncomingBody, check: ReturnType<typeof withDigests>): FileBody {
  return {
    declaredBytes: null,
    read(limitBytes, tooLong) {
      const whole = body.read(limitBytes + LIMITS.http.incoming.form.overheadBytes, tooLong);
      return bounded(fileOfForm(type, check(whole)), limitBytes, tooLong);
    },
  };
}

async function* bounded(
  pieces: AsyncIterable<Uint8Array>,
  limitBytes: number,
  tooLong: () => AppError,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > limitBytes) throw tooLong();
    yield piece;
  }
}

import type * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { shareKey } from "../../features/identity/actor.ts";
import { AppError } from "../../platform/errors.ts";
import type { TaskOwner } from "../../platform/request-thread.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import type { HttpRequest } from "../request/request.ts";
import { validate } from "../request/validate.ts";
import { createJsonScan, type JsonBounds } from "./json-scan.ts";

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

function malformed(detail: string): AppError {
  return new AppError("malformed_json", detail);
}

/** Parses bytes that were counted (json-scan.ts) and found within their bounds. @throws AppError `malformed_json` */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw malformed("The request has no body; JSON is expected.");
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed("The body is not valid UTF-8.");
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a secret.
    throw malformed("The body is not valid JSON.");
  }
}

/** Schema and parser of a route's body. */
export interface BodyReading<B> {
  schema: v.GenericSchema<unknown, B>;
  /** Parses and validates a body over LIMITS.http.bodies.parsedHereBytes; absent: the route's bodies are never longer. */
  parseLarge?: ParseLarge<B> | undefined;
}

/** Parses and validates off the event loop. @param bytes given away @throws AppError as `readBody` */
export type ParseLarge<B> = (bytes: Buffer, owner: TaskOwner) => Promise<B>;

export function isJson(contentType: string | undefined): boolean {
  return JSON_TYPE.test(contentType ?? "");
}

/**
 * Reads a request's body as JSON, and validates it. It was counted while it arrived.
 * @throws AppError `unsupported_media_type`, `body_too_large`, `overloaded`, `malformed_json`, `validation_failed`, and
 *   errors of the route's bounds
 */
export async function readBody<B>(request: HttpRequest, { schema, parseLarge }: BodyReading<B>): Promise<B> {
  if (!isJson(request.headers["content-type"]))
    throw new AppError(
      "unsupported_media_type",
      "The body must be JSON: send Content-Type: application/json.",
    );
  return withBytes(request, (bytes) => {
    if (parseLarge === undefined || bytes.length <= LIMITS.http.bodies.parsedHereBytes)
      return validate(schema, parseJson(bytes), "body");
    const share = request.actor === null ? "" : shareKey(request.actor);
    return parseLarge(bytes, { share, isCancelled: () => request.cancelled() });
  });
}

/**
 * Reads a request's body as JSON, once `verify` has accepted its bytes. Their signature makes a check of the content type
 * unnecessary.
 * @throws AppError `body_too_large`, `overloaded`, errors of `verify`, `malformed_json`
 */
export function readSignedJson(
  request: HttpRequest,
  verify: (bytes: Buffer) => void,
  bounds: JsonBounds,
): Promise<unknown> {
  return withBytes(request, (bytes) => {
    verify(bytes);
    createJsonScan(bounds).add(bytes);
    return parseJson(bytes);
  });
}

async function withBytes<T>(request: HttpRequest, parse: (bytes: Buffer) => MaybePromise<T>): Promise<T> {
  if (request.body === null) throw malformed("The request has no body; JSON is expected.");
  const bytes = await request.body.bytes;
  try {
    return await parse(bytes);
  } finally {
    request.body.abandon();
  }
}

import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { HttpRequest } from "./request.ts";

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Deepest nesting of arrays and objects, counted outside strings, without building anything. */
function nesting(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return deepest;
}

function malformed(detail: string): AppError {
  return new AppError("malformed_json", detail);
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw malformed("The request has no body; JSON is expected.");
  if (nesting(bytes) > LIMITS.http.jsonDepth)
    throw malformed(`The body is nested deeper than ${LIMITS.http.jsonDepth} levels.`);
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

/**
 * Reads a request's body as JSON.
 * @throws AppError `unsupported_media_type`, `body_too_large`, `overloaded`, `malformed_json`
 */
export async function readJson(request: HttpRequest): Promise<unknown> {
  if (!JSON_TYPE.test(request.headers["content-type"] ?? ""))
    throw new AppError(
      "unsupported_media_type",
      "The body must be JSON: send Content-Type: application/json.",
    );
  return parseBody(request, parseJson);
}

/**
 * Reads a request's body as JSON, once `verify` has passed its bytes. Their signature says more than a content type.
 * @throws AppError `body_too_large`, `overloaded`, what `verify` throws, `malformed_json`
 */
export function readSignedJson(request: HttpRequest, verify: (bytes: Buffer) => void): Promise<unknown> {
  return parseBody(request, (bytes) => {
    verify(bytes);
    return parseJson(bytes);
  });
}

async function parseBody(request: HttpRequest, parse: (bytes: Buffer) => unknown): Promise<unknown> {
  if (request.body === null) throw malformed("The request has no body; JSON is expected.");
  const bytes = await request.body.bytes;
  try {
    return parse(bytes);
  } finally {
    request.body.abandon();
  }
}

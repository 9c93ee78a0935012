import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { AppError } from "../../platform/errors.ts";
import {
  bodyTooLarge,
  type CollectOptions,
  collectBody,
  createGrowingBuffer,
  type RequestBody,
} from "./body.ts";
import { bodyBudgetExceeded, type IncomingBody } from "./incoming-body.ts";

const GZIP = /^[ \t]*(?:x-)?gzip[ \t]*$/i;
const IDENTITY = /^[ \t]*(?:identity[ \t]*)?$/i;
/** Bytes that are inflated at once. */
const PIECE_BYTES = 65_536;

/** RFC 9110 §15.5.16: says which codings would do. */
export function unsupportedCoding(): AppError {
  return new AppError(
    "unsupported_media_type",
    "The body's Content-Encoding is not supported: send it as it is, or with gzip.",
    { headers: { "Accept-Encoding": "gzip, identity" } },
  );
}

/**
 * Decodes the body's content coding when the body is collected. gzip is inflated in libuv's threads. The limit, the budget
 * and the inspection of plain bodies apply as the text grows.
 * @param coding `Content-Encoding`; undefined: there is none
 */
export function decodedBody(
  incoming: IncomingBody,
  coding: string | undefined,
  options: CollectOptions,
): RequestBody {
  if (coding === undefined || IDENTITY.test(coding)) return collectBody(incoming, options);
  const { limitBytes, account, inspect } = options;
  const body = collectBody(incoming, { limitBytes, account });
  let abandoned = false;
  let bytes: Promise<Buffer> | null = null;
  let freeDecoded: () => void = () => {};
  const free = () => {
    body.abandon();
    freeDecoded();
  };
  const checkWanted = () => {
    if (abandoned) throw new AppError("bad_request", "The request ended before its body.");
  };
  const decode = async (): Promise<Buffer> => {
    if (!GZIP.test(coding)) throw unsupportedCoding();
    const buffer = createGrowingBuffer(limitBytes, account());
    freeDecoded = () => buffer.free();
    for await (const piece of inflated(await body.bytes)) {
      checkWanted();
      if (buffer.length + piece.length > limitBytes) throw bodyTooLarge(limitBytes);
      inspect?.(piece);
      if (!buffer.append(piece)) throw bodyBudgetExceeded();
    }
    checkWanted();
    body.abandon();
    return buffer.content();
  };
  return {
    get bytes() {
      bytes ??= decode();
      bytes.catch(free);
      return bytes;
    },
    abandon() {
      abandoned = true;
      free();
    },
  };
}

/** @throws AppError `bad_request` when it is not whole gzip data and nothing else */
async function* inflated(compressed: Buffer): AsyncGenerator<Buffer> {
  const unzip = createGunzip({ chunkSize: PIECE_BYTES });
  pipeline(Readable.from([compressed], { objectMode: false }), unzip, () => {});
  try {
    for await (const piece of unzip as AsyncIterable<Buffer>) yield piece;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && /^Z_/.test(String(error.code)))) throw error;
    throw damaged();
  }
  // zlib takes a zero behind a member for padding and does not look at the rest.
  if (unzip.bytesWritten < compressed.length) throw damaged();
}

function damaged(): AppError {
  return new AppError("bad_request", "The body's Content-Encoding is gzip, but it is no whole gzip data.");
}

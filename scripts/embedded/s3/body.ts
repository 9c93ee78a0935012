import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { crc32 } from "node:zlib";
import { decodeChunked } from "./chunked.ts";
import { invalid, notImplemented, S3Error } from "./error.ts";

const OBJECT_MAX_BYTES = 5 * 1024 ** 3;
const STREAMING_UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/** What is computed of a body while it is read. */
export interface BodySums {
  /** base64 */
  crc32: string;
}

interface Digest {
  update(data: Buffer): void;
  base64(): string;
}

function crc32Digest(): Digest {
  let value = 0;
  return {
    update(data) {
      value = crc32(data, value);
    },
    base64() {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes.toString("base64");
    },
  };
}

function hashDigest(algorithm: string): Digest {
  const hash = createHash(algorithm);
  return { update: (data) => void hash.update(data), base64: () => hash.digest("base64") };
}

/** Checksums a client may send, in a header or a trailer, and how each is computed. */
const CHECKSUMS: Record<string, () => Digest> = {
  "content-md5": () => hashDigest("md5"),
  "x-amz-checksum-crc32": crc32Digest,
  "x-amz-checksum-sha1": () => hashDigest("sha1"),
  "x-amz-checksum-sha256": () => hashDigest("sha256"),
};

/** The checksums named by the request: those in headers, and those announced to come as trailers. */
function announced(req: IncomingMessage): Map<string, Digest> {
  const trailers = String(req.headers["x-amz-trailer"] ?? "")
    .toLowerCase()
    .split(",");
  const names = [...Object.keys(req.headers), ...trailers.map((name) => name.trim())];
  const digests = new Map<string, Digest>();
  for (const name of names) {
    const create = CHECKSUMS[name];
    if (create) digests.set(name, create());
    else if (/^x-amz-checksum-(crc|sha)/.test(name)) throw notImplemented(`checksum ${name.slice(15)}`);
  }
  return digests;
}

function declaredLength(req: IncomingMessage, chunked: boolean): number | null {
  const text = req.headers[chunked ? "x-amz-decoded-content-length" : "content-length"];
  if (text === undefined && !chunked) return req.headers["transfer-encoding"] === undefined ? 0 : null;
  const length = Number(text);
  if (!Number.isSafeInteger(length) || length < 0)
    throw invalid("The length of the body is missing or wrong.");
  if (length > OBJECT_MAX_BYTES)
    throw new S3Error(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size.");
  return length;
}

/**
 * The payload of a request, decoded, piece by piece; after the last piece everything the client said of it has been
 * verified: length, signed hash, checksums in headers and trailers. A consumer must not keep what it read when the
 * iteration throws.
 *
 * @param sums gets those of the whole body when the iteration ends
 * @throws S3Error 400 on any difference.
 */
async function* readBody(req: IncomingMessage, payloadHash: string, sums: BodySums): AsyncGenerator<Buffer> {
  const chunked = payloadHash === STREAMING_UNSIGNED;
  if (payloadHash.startsWith("STREAMING-") && !chunked) throw notImplemented(payloadHash);
  const expectedBytes = declaredLength(req, chunked);
  const digests = announced(req);
  // Nearly every client announces it: once is enough for what was said and for what is kept.
  const crc = digests.get("x-amz-checksum-crc32") ?? crc32Digest();
  const computed = new Set([crc, ...digests.values()]);
  const signed = /^[0-9a-f]{64}$/.test(payloadHash) ? createHash("sha256") : null;
  const trailers = new Map<string, string>();
  let bytes = 0;
  // Left open when we stop reading: the client is still to be answered.
  const raw = req.iterator({ destroyOnReturn: false });
  for await (const piece of chunked ? decodeChunked(raw, trailers) : raw) {
    bytes += piece.length;
    if (bytes > (expectedBytes ?? OBJECT_MAX_BYTES)) throw invalid("The body is longer than announced.");
    for (const digest of computed) digest.update(piece);
    signed?.update(piece);
    yield piece;
  }
  if (expectedBytes !== null && bytes !== expectedBytes)
    throw new S3Error(400, "IncompleteBody", "The body is shorter than announced.");
  if (signed && signed.digest("hex") !== payloadHash)
    throw new S3Error(400, "XAmzContentSHA256Mismatch", "The body is not the one that was signed.");
  for (const [name, digest] of digests) {
    if (digest.base64() !== (trailers.get(name) ?? req.headers[name]))
      throw new S3Error(400, "BadDigest", `The ${name} you specified did not match the calculated one.`);
  }
  sums.crc32 = crc.base64();
}

/** See `readBody`, which reads the pieces. */
export function openBody(
  req: IncomingMessage,
  payloadHash: string,
): { pieces: AsyncGenerator<Buffer>; sums: BodySums } {
  const sums = { crc32: "" };
  return { pieces: readBody(req, payloadHash, sums), sums };
}

/** A whole small body, e.g. the XML of DeleteObjects. */
export async function readText(req: IncomingMessage, payloadHash: string, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of openBody(req, payloadHash).pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new S3Error(400, "MaxMessageLengthExceeded", "Your request was too big.");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

import { createHash, type Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { crc32 } from "node:zlib";
import { decodeChunked } from "./chunked.ts";
import { invalid, notImplemented, S3Error } from "./error.ts";

const OBJECT_MAX_BYTES = 5 * 1024 ** 3;
const STREAMING_UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/** Checksums of a body, computed while it is read. */
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

/** Takes the pieces of a body. @returns what to wait for before the next; null: it may come at once */
export type PieceSink = (piece: Buffer) => Promise<void> | null;

/** The client's claims about a body, checked against the bytes that arrive. */
class Account {
  readonly #req: IncomingMessage;
  readonly #payloadHash: string;
  readonly #expectedBytes: number | null;
  readonly #digests: Map<string, Digest>;
  readonly #crc: Digest;
  readonly #computed: readonly Digest[];
  readonly #signed: Hash | null;
  #bytes = 0;

  constructor(req: IncomingMessage, payloadHash: string, chunked: boolean) {
    this.#req = req;
    this.#payloadHash = payloadHash;
    this.#expectedBytes = declaredLength(req, chunked);
    this.#digests = announced(req);
    // Nearly every client sends CRC-32 anyway: one computation serves its check and the stored sum.
    this.#crc = this.#digests.get("x-amz-checksum-crc32") ?? crc32Digest();
    this.#computed = [...new Set([this.#crc, ...this.#digests.values()])];
    this.#signed = /^[0-9a-f]{64}$/.test(payloadHash) ? createHash("sha256") : null;
  }

  /** @throws S3Error */
  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > (this.#expectedBytes ?? OBJECT_MAX_BYTES))
      throw invalid("The body is longer than announced.");
    for (const digest of this.#computed) digest.update(piece);
    this.#signed?.update(piece);
  }

  /** @throws S3Error on any difference */
  close(trailers: ReadonlyMap<string, string>): BodySums {
    if (this.#expectedBytes !== null && this.#bytes !== this.#expectedBytes)
      throw new S3Error(400, "IncompleteBody", "The body is shorter than announced.");
    if (this.#signed && this.#signed.digest("hex") !== this.#payloadHash)
      throw new S3Error(400, "XAmzContentSHA256Mismatch", "The body is not the one that was signed.");
    for (const [name, digest] of this.#digests) {
      if (digest.base64() !== (trailers.get(name) ?? this.#req.headers[name]))
        throw new S3Error(400, "BadDigest", `The ${name} you specified did not match the calculated one.`);
    }
    return { crc32: this.#crc.base64() };
  }
}

/** Hands over what comes, as it comes: a step of an iterator for each 64 KiB cost as much as to sum and write them. */
function takeAll(req: IncomingMessage, take: PieceSink): Promise<void> {
  return new Promise((resolve, reject) => {
    /** The sink's promise for the last piece: the body may end while it is pending. */
    let pending: Promise<void> | null = null;
    function end(error?: unknown): void {
      req.off("data", onData);
      req.off("end", onEnd);
      req.off("close", onClose);
      req.off("error", end);
      // The rest of the body is left to the handler of the answer.
      req.pause();
      if (error === undefined) resolve();
      else reject(error);
    }
    function onData(piece: Buffer): void {
      try {
        pending = take(piece);
        if (pending === null) return;
        req.pause();
        pending.then(() => req.resume(), end);
      } catch (error) {
        end(error);
      }
    }
    function onEnd(): void {
      // All is here.
      req.off("close", onClose);
      void (pending ?? Promise.resolve()).then(() => end(), end);
    }
    const onClose = () => end(new Error("the client went away"));
    req.on("data", onData).once("end", onEnd).once("close", onClose).once("error", end);
  });
}

/**
 * Reads the payload of a request, decoded, piece by piece. When it resolves, every claim of the client has been
 * verified: length, signed hash, checksums in headers and trailers. When it rejects, the receiver of the pieces must
 * discard them.
 *
 * @returns checksums of the whole body
 * @throws S3Error 400 on any difference; errors of `take`
 */
export async function readBody(
  req: IncomingMessage,
  payloadHash: string,
  take: PieceSink,
): Promise<BodySums> {
  const chunked = payloadHash === STREAMING_UNSIGNED;
  if (payloadHash.startsWith("STREAMING-") && !chunked) throw notImplemented(payloadHash);
  const account = new Account(req, payloadHash, chunked);
  const trailers = new Map<string, string>();
  const takeNext: PieceSink = (piece) => {
    account.add(piece);
    return take(piece);
  };
  if (chunked) {
    // Left open when we stop reading: the client is still to be answered.
    const raw = req.iterator({ destroyOnReturn: false });
    for await (const piece of decodeChunked(raw, trailers)) await takeNext(piece);
  } else await takeAll(req, takeNext);
  return account.close(trailers);
}

/** A whole small body, e.g. the XML of DeleteObjects. */
export async function readText(req: IncomingMessage, payloadHash: string, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await readBody(req, payloadHash, (piece) => {
    bytes += piece.length;
    if (bytes > maxBytes) throw new S3Error(400, "MaxMessageLengthExceeded", "Your request was too big.");
    pieces.push(piece);
    return null;
  });
  return Buffer.concat(pieces).toString("utf8");
}

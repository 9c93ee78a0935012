import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { S3Error } from "./error.ts";

export interface Credentials {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

interface Signature {
  credential: string;
  signedHeaders: string[];
  signature: string;
  /** `YYYYMMDDTHHMMSSZ` */
  timestamp: string;
  /** The hash of the body in the signature: hex, UNSIGNED-PAYLOAD, or a STREAMING-… name. */
  payloadHash: string;
  /** Milliseconds around the timestamp in which the signature holds. */
  validMs: { before: number; after: number };
}

const ALGORITHM = "AWS4-HMAC-SHA256";
const SKEW_MS = 15 * 60_000;
const EXPIRES_MAX_S = 7 * 86_400;

const denied = (message: string) => new S3Error(403, "AccessDenied", message);
const badAuth = (message: string) => new S3Error(400, "AuthorizationHeaderMalformed", message);
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** RFC 3986 encoding as AWS wants it: everything but unreserved characters. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function headerOf(req: IncomingMessage, name: string): string {
  const value = req.headers[name];
  return (Array.isArray(value) ? value.join(",") : (value ?? "")).trim().replaceAll(/ +/g, " ");
}

function fromHeader(req: IncomingMessage): Signature {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^,]+),\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})$/.exec(
      req.headers.authorization ?? "",
    );
  if (!match) throw badAuth("The authorization header is malformed.");
  return {
    credential: match[1] ?? "",
    signedHeaders: (match[2] ?? "").split(";"),
    signature: match[3] ?? "",
    timestamp: headerOf(req, "x-amz-date"),
    payloadHash: headerOf(req, "x-amz-content-sha256"),
    validMs: { before: SKEW_MS, after: SKEW_MS },
  };
}

function fromQuery(req: IncomingMessage, query: URLSearchParams): Signature {
  const expiresS = Number(query.get("X-Amz-Expires"));
  if (query.get("X-Amz-Algorithm") !== ALGORITHM || !(expiresS >= 1 && expiresS <= EXPIRES_MAX_S))
    throw new S3Error(400, "AuthorizationQueryParametersError", "The query of a presigned URL is malformed.");
  return {
    credential: query.get("X-Amz-Credential") ?? "",
    signedHeaders: (query.get("X-Amz-SignedHeaders") ?? "").split(";"),
    signature: query.get("X-Amz-Signature") ?? "",
    timestamp: query.get("X-Amz-Date") ?? "",
    payloadHash: headerOf(req, "x-amz-content-sha256") || "UNSIGNED-PAYLOAD",
    validMs: { before: SKEW_MS, after: expiresS * 1_000 },
  };
}

function checkTime({ timestamp, validMs }: Signature, nowMs: number): void {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(timestamp);
  if (!match) throw denied("The request has no valid date.");
  const [, y, mo, d, h, mi, s] = match.map(Number);
  const atMs = Date.UTC(y ?? 0, (mo ?? 0) - 1, d ?? 0, h ?? 0, mi ?? 0, s ?? 0);
  if (nowMs < atMs - validMs.before || nowMs > atMs + validMs.after) throw denied("Request has expired");
}

/** Every x-amz- header must be signed: an unsigned one could have been added in transit. */
function checkSignedHeaders(req: IncomingMessage, { signedHeaders }: Signature): void {
  const unsigned = Object.keys(req.headers).find((h) => h.startsWith("x-amz-") && !signedHeaders.includes(h));
  if (unsigned !== undefined || !signedHeaders.includes("host"))
    throw denied("There were headers present in the request which were not signed");
}

function canonicalRequest(req: IncomingMessage, path: string, query: URLSearchParams, s: Signature): string {
  const pairs = [...query]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => ({ name: encode(name), value: encode(value) }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
    .map(({ name, value }) => `${name}=${value}`);
  return [
    req.method,
    path.split("/").map(encode).join("/"),
    pairs.join("&"),
    ...s.signedHeaders.map((name) => `${name}:${headerOf(req, name)}`),
    "",
    s.signedHeaders.join(";"),
    s.payloadHash,
  ].join("\n");
}

/** The last signing key of each credential: computing it takes four hashes, and it is valid for a day. */
const signingKeys = new WeakMap<Credentials, { day: string; key: Buffer }>();

function signingKey(credentials: Credentials, day: string): Buffer {
  const known = signingKeys.get(credentials);
  if (known?.day === day) return known.key;
  const key = [credentials.region, "s3", "aws4_request"].reduce<Buffer>(
    (secret, part) => hmac(secret, part),
    hmac(`AWS4${credentials.secretAccessKey}`, day),
  );
  signingKeys.set(credentials, { day, key });
  return key;
}

/**
 * Verifies AWS Signature Version 4 in the Authorization header or in the query of a presigned URL.
 *
 * @param path decoded path; @param query decoded query.
 * @returns the body's hash as signed, which the reader of the body must hold it to.
 * @throws S3Error 403 or 400 in S3's words.
 */
export function verifySignature(
  req: IncomingMessage,
  path: string,
  query: URLSearchParams,
  credentials: Credentials,
  nowMs: number,
): string {
  const presigned = query.has("X-Amz-Signature");
  if (!presigned && req.headers.authorization === undefined) throw denied("Access Denied");
  const s = presigned ? fromQuery(req, query) : fromHeader(req);
  const day = s.timestamp.slice(0, 8);
  const scope = `${day}/${credentials.region}/s3/aws4_request`;
  if (!s.credential.startsWith(`${credentials.accessKeyId}/`))
    throw new S3Error(403, "InvalidAccessKeyId", "The access key id does not exist in our records.");
  if (s.credential !== `${credentials.accessKeyId}/${scope}`)
    throw badAuth(`The credential's scope must be ${scope}.`);
  checkTime(s, nowMs);
  checkSignedHeaders(req, s);

  const hash = createHash("sha256")
    .update(canonicalRequest(req, path, query, s))
    .digest("hex");
  const toSign = [ALGORITHM, s.timestamp, scope, hash].join("\n");
  const key = signingKey(credentials, day);
  const given = Buffer.from(s.signature, "hex");
  const expected = hmac(key, toSign);
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new S3Error(403, "SignatureDoesNotMatch", "The signature does not match the one calculated.");
  return s.payloadHash;
}

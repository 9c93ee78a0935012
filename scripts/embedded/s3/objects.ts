import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { readBody, readText } from "./body.ts";
import type { Bucket } from "./bucket.ts";
import { invalid, noSuchKey, notImplemented, S3Error } from "./error.ts";
import type { Multipart } from "./multipart.ts";
import { type ObjectInfo, type StagedSource, withStaged } from "./object-file.ts";
import { encode } from "./sigv4.ts";
import { document, isoTime, parseComplete, partEntry } from "./xml.ts";

/** One request on one key. */
export interface ObjectRequest {
  req: IncomingMessage;
  res: ServerResponse;
  query: URLSearchParams;
  payloadHash: string;
  bucketName: string;
  bucket: Bucket;
  key: string;
  uploads: Multipart;
  /** Folder of unfinished files. */
  stagingFolder: string;
  /** Folder of the parts of objects made of parts. */
  assembledFolder: string;
}

const XML_MAX_BYTES = 2 * 1024 ** 2;
const PAGE_MAX = 1_000;
/** Up to so much is read before it is sent; more is streamed. */
const READ_AT_ONCE_BYTES = 1_048_576;
const KEPT_HEADERS = ["cache-control", "content-disposition", "content-encoding", "content-language"];

export function sendXml(res: ServerResponse, xml: string): void {
  res.writeHead(200, { "content-type": "application/xml", "content-length": Buffer.byteLength(xml) });
  res.end(xml);
}

function describe(req: IncomingMessage): Pick<ObjectInfo, "contentType" | "headers"> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(req.headers)) {
    if (typeof value !== "string") continue;
    // The framing of the request is no property of the object.
    const kept = name === "content-encoding" ? value.replace(/\s*aws-chunked\s*,?\s*/g, "") : value;
    if ((name.startsWith("x-amz-meta-") || KEPT_HEADERS.includes(name)) && kept !== "") headers[name] = kept;
  }
  return { contentType: req.headers["content-type"] ?? "application/octet-stream", headers };
}

const failed = () =>
  new S3Error(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");

/** Conditional writes; asked at the moment of the commit, so that of two rivals one wins. */
function checkWriteCondition(req: IncomingMessage, existing: ObjectInfo | undefined): void {
  if (req.headers["if-none-match"] === "*" && existing) throw failed();
  const wanted = req.headers["if-match"];
  if (wanted === undefined) return;
  if (!existing) throw noSuchKey();
  if (wanted.replaceAll('"', "") !== existing.etag) throw failed();
}

const bodyOf =
  ({ req, payloadHash }: ObjectRequest): StagedSource =>
  (take) =>
    readBody(req, payloadHash, take);

export async function putObject(r: ObjectRequest): Promise<void> {
  const { etag, crc32 } = await withStaged(r.stagingFolder, bodyOf(r), (staged) => {
    checkWriteCondition(r.req, r.bucket.get(r.key));
    const { size, etag, crc32 } = staged;
    r.bucket.commit(staged, { key: r.key, size, etag, crc32, modifiedMs: Date.now(), ...describe(r.req) });
    return staged;
  });
  r.res.writeHead(200, { etag: `"${etag}"`, "x-amz-checksum-crc32": crc32, "content-length": 0 }).end();
}

/** First and last byte of a single range; null: the whole object is served. */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return null;
  const start = match[1] === "" ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const end = match[1] === "" || match[2] === "" ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (start >= size || start > end)
    throw new S3Error(416, "InvalidRange", "The requested range is not satisfiable");
  return { start, end };
}

/** Headers that a (presigned) request asks to be answered with, e.g. `response-content-disposition`. */
function overrides(query: URLSearchParams): Record<string, string> {
  const asked = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
  ];
  return Object.fromEntries(
    asked.flatMap((name) => {
      const value = query.get(`response-${name}`);
      return value === null || /[\r\n]/.test(value) ? [] : [[name, value]];
    }),
  );
}

export async function getObject({ req, res, query, bucket, key }: ObjectRequest): Promise<void> {
  const info = bucket.get(key);
  if (!info) throw noSuchKey();
  const wanted = req.headers["if-match"]?.replaceAll('"', "");
  if (wanted !== undefined && wanted !== "*" && wanted !== info.etag) throw failed();
  const common = {
    etag: `"${info.etag}"`,
    "last-modified": new Date(info.modifiedMs).toUTCString(),
    "accept-ranges": "bytes",
    "content-type": info.contentType,
    ...info.headers,
    ...overrides(query),
  };
  if (req.headers["if-none-match"]?.replaceAll('"', "") === info.etag)
    return void res.writeHead(304, common).end();
  const range = rangeOf(req.headers.range, info.size);
  const { start, end } = range ?? { start: 0, end: info.size - 1 };
  res.writeHead(range ? 206 : 200, {
    ...common,
    "content-length": end - start + 1,
    ...(range ? { "content-range": `bytes ${start}-${end}/${info.size}` } : {}),
    ...(!range && info.crc32 !== null ? { "x-amz-checksum-crc32": info.crc32 } : {}),
  });
  if (req.method === "HEAD") return void res.end();
  if (end - start < READ_AT_ONCE_BYTES) return void res.end(bucket.readNow(info, start, end));
  await pipeline(bucket.read(info, start, end), res);
}

export function deleteObject({ res, bucket, key }: ObjectRequest): void {
  bucket.delete(key);
  res.writeHead(204).end();
}

export function createUpload(r: ObjectRequest): void {
  const id = r.uploads.create({ bucket: r.bucketName, key: r.key, ...describe(r.req) });
  const body = { Bucket: r.bucketName, Key: r.key, UploadId: id };
  sendXml(r.res, document("InitiateMultipartUploadResult", body));
}

function uploadId(r: ObjectRequest): string {
  const id = r.query.get("uploadId") ?? "";
  r.uploads.get(id, r.bucketName, r.key);
  return id;
}

export async function putPart(r: ObjectRequest): Promise<void> {
  const id = uploadId(r);
  const { etag, crc32 } = await withStaged(r.stagingFolder, bodyOf(r), (staged) => {
    r.uploads.addPart(id, Number(r.query.get("partNumber")), staged);
    return staged;
  });
  const headers = { etag: `"${etag}"`, "x-amz-checksum-crc32": crc32, "content-length": 0 };
  r.res.writeHead(200, headers).end();
}

/** A whole number of the query, up to what one answer may hold. */
function pageSize(query: URLSearchParams, name: string): number {
  const asked = Number(query.get(name) ?? PAGE_MAX);
  if (!Number.isInteger(asked) || asked < 0) throw invalid(`${name} must be a whole number.`);
  return Math.min(asked, PAGE_MAX);
}

export function listParts(r: ObjectRequest): void {
  const id = uploadId(r);
  const max = pageSize(r.query, "max-parts");
  const after = Number(r.query.get("part-number-marker") ?? 0);
  const left = r.uploads.parts(id).filter(({ key }) => Number(key) > after);
  const page = left.slice(0, max);
  const truncated = left.length > page.length;
  const body = {
    Bucket: r.bucketName,
    Key: r.key,
    UploadId: id,
    PartNumberMarker: after,
    NextPartNumberMarker: truncated ? Number(page.at(-1)?.key ?? after) : null,
    MaxParts: max,
    IsTruncated: truncated,
  };
  sendXml(r.res, document("ListPartsResult", { ...body, Part: page.map(partEntry) }));
}

/**
 * Lists uploads in progress. One page of S3's size at most, and no further pages: a client that needs more must end
 * some uploads first.
 */
export function listUploads(r: Pick<ObjectRequest, "res" | "query" | "bucketName" | "uploads">): void {
  const prefix = r.query.get("prefix") ?? "";
  const encoding = r.query.get("encoding-type");
  if (r.query.has("key-marker")) throw notImplemented("further pages of multipart uploads");
  const max = pageSize(r.query, "max-uploads");
  const all = r.uploads.list(r.bucketName, prefix);
  const shown = (text: string) => (encoding === "url" ? encode(text) : text);
  const body = {
    Bucket: r.bucketName,
    Prefix: shown(prefix),
    EncodingType: encoding,
    MaxUploads: max,
    IsTruncated: all.length > max,
    Upload: all.slice(0, max).map(({ id, key, startedMs }) => ({
      Key: shown(key),
      UploadId: id,
      Initiated: isoTime(startedMs),
    })),
  };
  sendXml(r.res, document("ListMultipartUploadsResult", body));
}

export function abortUpload(r: ObjectRequest): void {
  r.uploads.remove(uploadId(r));
  r.res.writeHead(204).end();
}

export async function completeUpload(r: ObjectRequest): Promise<void> {
  const id = uploadId(r);
  const { contentType, headers } = r.uploads.get(id, r.bucketName, r.key);
  const named = parseComplete(await readText(r.req, r.payloadHash, XML_MAX_BYTES));
  if (named.some(({ number }) => !Number.isInteger(number))) throw invalid("A part has no number.");
  const { parts, etag } = r.uploads.choose(id, named);
  checkWriteCondition(r.req, r.bucket.get(r.key));
  // Parts that the request does not name are removed with the object. The named ones are not copied: an object of any
  // size is complete at once.
  await withStaged(
    r.stagingFolder,
    async () => ({ crc32: "" }),
    (staged) => {
      r.uploads.release(id, join(r.assembledFolder, id));
      const size = parts.reduce((sum, part) => sum + part.size, 0);
      const info = { key: r.key, size, etag, crc32: null, modifiedMs: Date.now() };
      r.bucket.commit(staged, { ...info, contentType, headers, assembled: { folder: id, parts } });
    },
  );
  const body = { Location: `/${r.bucketName}/${r.key}`, Bucket: r.bucketName, Key: r.key, ETag: `"${etag}"` };
  sendXml(r.res, document("CompleteMultipartUploadResult", body));
}

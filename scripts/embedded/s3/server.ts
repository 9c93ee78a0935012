import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { readText } from "./body.ts";
import { Bucket } from "./bucket.ts";
import { allowOrigin, answerPreflight, type CorsRule } from "./cors.ts";
import { invalid, notImplemented, S3Error } from "./error.ts";
import { Multipart } from "./multipart.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  deleteObject,
  getObject,
  listParts,
  listUploads,
  type ObjectRequest,
  putObject,
  putPart,
  sendXml,
} from "./objects.ts";
import { type Credentials, encode, verifySignature } from "./sigv4.ts";
import { document, listEntry, parseDelete } from "./xml.ts";

export interface S3ServerOptions extends Credentials {
  /** Folder of the data. */
  folder: string;
  /** Bucket that is made at start. */
  bucket: string;
  /** Milliseconds since the epoch, for the lifetime of signatures. */
  now: () => number;
  /** Applies to every bucket; absent: pages of other origins are refused. */
  cors?: CorsRule;
}

const KEY_MAX_BYTES = 1_024;
const LIST_MAX = 1_000;
const XML_MAX_BYTES = 2 * 1024 ** 2;
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * A server for development and tests that supports as much of S3 as the service uses: signatures, unsigned chunked
 * bodies with checksums, multipart, ranges, paged lists, presigned URLs, conditional writes. Data is in a folder, is
 * streamed, and appears completely or not at all. It refuses unsupported features by name rather than storing wrong
 * data.
 */
export function createS3Server(options: S3ServerOptions): Server {
  const buckets = new Map<string, Bucket>();
  const bucketsFolder = join(options.folder, "buckets");
  const stagingFolder = join(options.folder, "staging");
  // Half-written files of a server that was killed.
  rmSync(stagingFolder, { recursive: true, force: true });
  mkdirSync(stagingFolder, { recursive: true, mode: 0o700 });
  const assembledFolder = join(options.folder, "assembled");
  mkdirSync(assembledFolder, { recursive: true, mode: 0o700 });
  const uploads = new Multipart(join(options.folder, "uploads"));
  const open = (name: string) => buckets.set(name, new Bucket(join(bucketsFolder, name), assembledFolder));
  if (existsSync(bucketsFolder)) readdirSync(bucketsFolder).forEach(open);
  if (!buckets.has(options.bucket)) open(options.bucket);
  removeOrphans(assembledFolder, buckets.values());

  function createBucket(name: string, res: ServerResponse): void {
    if (!BUCKET_NAME.test(name)) throw new S3Error(400, "InvalidBucketName", "The bucket name is not valid.");
    if (buckets.has(name)) throw new S3Error(409, "BucketAlreadyOwnedByYou", "You already own this bucket.");
    open(name);
    res.writeHead(200, { location: `/${name}`, "content-length": 0 }).end();
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === "OPTIONS") return answerPreflight(req, res);
    const { path, query } = parseTarget(req.url ?? "/");
    const payloadHash = verifySignature(req, path, query, options, options.now());
    const [, name = "", ...rest] = path.split("/");
    const key = rest.join("/");
    if (name === "") throw notImplemented("operation on the service itself");
    if (key === "" && req.method === "PUT") return createBucket(name, res);
    const bucket = buckets.get(name);
    if (!bucket) throw new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");
    if (Buffer.byteLength(key) > KEY_MAX_BYTES)
      throw new S3Error(400, "KeyTooLongError", "Your key is too long");
    const request = { req, res, query, payloadHash, bucketName: name, bucket, key, uploads };
    const folders = { stagingFolder, assembledFolder };
    return key === "" ? onBucket({ ...request, ...folders }) : onObject({ ...request, ...folders });
  }

  const server = createServer((req, res) => {
    allowOrigin(req, res, options.cors);
    handle(req, res).catch((error: unknown) => sendError(req, res, error));
  });
  // Uploads have no time limit; a client that keeps a connection open must not find it closed.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 65_000;
  return server;
}

/** Parts that a server left, which was killed between two steps. */
function removeOrphans(folder: string, buckets: Iterable<Bucket>): void {
  const used = new Set([...buckets].flatMap((bucket) => bucket.assembledFolders()));
  for (const name of readdirSync(folder))
    if (!used.has(name)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Path and query, decoded; in S3 a plus sign is a plus sign. */
function parseTarget(url: string): { path: string; query: URLSearchParams } {
  const [path = "", ...query] = url.split("?");
  try {
    return {
      path: decodeURIComponent(path),
      query: new URLSearchParams(query.join("?").replaceAll("+", "%2B")),
    };
  } catch {
    throw new S3Error(400, "InvalidURI", "Couldn't parse the specified URI.");
  }
}

async function onBucket(r: ObjectRequest): Promise<void> {
  const { req, res, query, bucket, payloadHash } = r;
  if (req.method === "HEAD") return void res.writeHead(200).end();
  if (req.method === "GET" && query.get("list-type") === "2") return listObjects(r);
  if (req.method === "GET" && query.has("uploads")) return listUploads(r);
  if (req.method === "POST" && query.has("delete")) {
    const { keys, quiet } = parseDelete(await readText(req, payloadHash, XML_MAX_BYTES));
    for (const key of keys) bucket.delete(key);
    const deleted = quiet ? null : keys.map((key) => ({ Key: key }));
    return sendXml(res, document("DeleteResult", { Deleted: deleted }));
  }
  throw notImplemented(`${req.method} on a bucket with these parameters`);
}

function listObjects({ res, query, bucket, bucketName }: ObjectRequest): void {
  const token = query.get("continuation-token");
  const asked = Number(query.get("max-keys") ?? LIST_MAX);
  const encoding = query.get("encoding-type");
  if (!Number.isInteger(asked) || asked < 0) throw invalid("max-keys must be a whole number.");
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const after =
    token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64url").toString();
  const page = bucket.list({ prefix, delimiter, after, max: Math.min(asked, LIST_MAX) });
  const shown = (text: string) => (encoding === "url" ? encode(text) : text);
  sendXml(
    res,
    document("ListBucketResult", {
      Name: bucketName,
      Prefix: shown(prefix),
      Delimiter: delimiter === "" ? null : shown(delimiter),
      EncodingType: encoding,
      MaxKeys: Math.min(asked, LIST_MAX),
      KeyCount: page.objects.length + page.commonPrefixes.length,
      IsTruncated: page.next !== null,
      NextContinuationToken: page.next === null ? null : Buffer.from(page.next).toString("base64url"),
      Contents: page.objects.map((info) => listEntry(info, encoding === "url")),
      CommonPrefixes: page.commonPrefixes.map((common) => ({ Prefix: shown(common) })),
    }),
  );
}

async function onObject(r: ObjectRequest): Promise<void> {
  const { method } = r.req;
  const hasUpload = r.query.has("uploadId");
  if (r.req.headers["x-amz-copy-source"] !== undefined) throw notImplemented("copying of objects");
  if (method === "PUT") return hasUpload ? putPart(r) : putObject(r);
  if (method === "GET" && hasUpload) return listParts(r);
  if (method === "GET" || method === "HEAD") return getObject(r);
  if (method === "DELETE") return hasUpload ? abortUpload(r) : deleteObject(r);
  if (method === "POST" && hasUpload) return completeUpload(r);
  if (method === "POST" && r.query.has("uploads")) return createUpload(r);
  throw notImplemented(`${method} on an object with these parameters`);
}

function sendError(req: IncomingMessage, res: ServerResponse, error: unknown): void {
  const known =
    error instanceof S3Error ? error : new S3Error(500, "InternalError", "We encountered an error.");
  const isGone = req.socket.destroyed;
  if (!(error instanceof S3Error) && !isGone) console.error(error);
  if (res.headersSent || isGone) return void res.destroy();
  const xml = document("Error", { Code: known.code, Message: known.message });
  // Reads and discards the rest of the body, so that the client gets to read the answer.
  req.resume();
  res.writeHead(known.status, {
    "content-type": "application/xml",
    "content-length": Buffer.byteLength(xml),
    ...(req.complete ? {} : { connection: "close" }),
  });
  res.end(req.method === "HEAD" ? undefined : xml);
}

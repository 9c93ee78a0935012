import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { S3RequestPresigner } from "@aws-sdk/s3-request-presigner";
import type { Config } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { createPacedTurns, type PacedTurns } from "../../platform/time/paced-turns.ts";
import { httpStatus, MissingObject } from "../../stores/objects/object-errors.ts";
import type { ObjectStore } from "../../stores/objects/objects.ts";

/** A part that object storage has. */
export interface StoredPart {
  number: number;
  bytes: number;
  etag: string;
}

/** A part that a client is to send. */
export interface PartSize {
  number: number;
  bytes: number;
}

/** Lets a client write one object, or its parts, without our credentials. URLs use S3_PUBLIC_ENDPOINT. */
export interface UploadObjects {
  /** The origin of all URLs, e.g. `https://files.example.com`: pages send the files there. */
  origin(): Promise<string>;
  /** Validity of a signature made now, at most `wantedMs`, and not longer than temporary credentials. */
  validMs(wantedMs: number): Promise<number>;
  /** @param bytes signed: a body of another length is refused. The caller must send `headers`. */
  presignPut(
    key: string,
    bytes: number | null,
    validMs: number,
  ): Promise<{ url: string; headers: Record<string, string> }>;
  /**
   * A URL for each part. A part of the event loop's time is for that and for `listParts`, by turns of shares.
   * @param share see `shareKey`
   */
  presignParts(
    key: string,
    multipartId: string,
    parts: readonly PartSize[],
    validMs: number,
    share: string,
  ): Promise<string[]>;
  /** @returns the id of a multipart upload */
  startMultipart(key: string): Promise<string>;
  /**
   * All parts, by number.
   * @param share whose turn it uses, as for looks at objects: see `shareKey`
   * @throws MissingObject when the upload does not exist (any more)
   */
  listParts(key: string, multipartId: string, share: string): Promise<StoredPart[]>;
  /** Combines the parts into the object. @throws MissingObject as `listParts` */
  completeMultipart(
    key: string,
    multipartId: string,
    parts: readonly StoredPart[],
  ): Promise<{ etag: string }>;
}

const REFUSED_PARTS = new Set(["EntityTooSmall", "InvalidPart", "InvalidPartOrder"]);

/** True when object storage has other parts than the ones to be combined. */
export function isRefusedPart(error: unknown): boolean {
  return error instanceof Error && REFUSED_PARTS.has(error.name);
}

function missing(error: unknown): unknown {
  return httpStatus(error) === 404 ? new MissingObject("no such upload", { cause: error }) : error;
}

/**
 * Loaded with the first URL: 40 ms that the start of a process need not wait for. By its default export: of a CommonJS
 * package the build exports nothing else to an `import()`.
 */
const presigner = async () => (await import("@aws-sdk/s3-request-presigner")).default;

/** Signed besides `Host`, where it is known. */
const SIZE = new Set(["content-length"]);

const { partsAtOnce, listedPartMs, partsLoopPart } = LIMITS.uploads;

/** URLs state their validity in whole seconds: zero seconds cannot be signed. */
const SHORTEST_MS = 1_000;

const expiresIn = (validMs: number) => ({ expiresIn: Math.floor(validMs / 1_000) });

/** A client that only signs: it opens no connection. Without checksums, which would require the bytes. */
function createSigner(settings: NonNullable<Config["objects"]>): S3Client {
  return new S3Client({
    region: settings.region,
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
    ...(settings.publicEndpoint === null ? {} : { endpoint: settings.publicEndpoint }),
    ...(settings.credentials === null ? {} : { credentials: settings.credentials }),
  });
}

/** From a URL that is signed without real credentials: getting those may take a request. */
async function readOrigin(settings: NonNullable<Config["objects"]>): Promise<string> {
  const signer = createSigner({ ...settings, credentials: { accessKeyId: "none", secretAccessKey: "none" } });
  const { getSignedUrl } = await presigner();
  const url = await getSignedUrl(signer, new PutObjectCommand({ Bucket: settings.bucket, Key: "none" }));
  return new URL(url).origin;
}

type SignableRequest = Parameters<S3RequestPresigner["presign"]>[0];

/**
 * The signature of `getSignedUrl` for another part of the upload of `like`. Its middleware takes 1 ms a part, the signature
 * alone 0.06 ms, and a file may have LIMITS.uploads.parts.
 */
function partRequest(like: URL, uploadId: string, { number, bytes }: PartSize): SignableRequest {
  return {
    method: "PUT",
    protocol: like.protocol,
    hostname: like.hostname,
    ...(like.port === "" ? {} : { port: Number(like.port) }),
    path: like.pathname,
    query: { partNumber: String(number), uploadId, "x-id": "UploadPart" },
    headers: { host: like.host, "content-length": String(bytes) },
  };
}

function urlOf({ protocol, headers, path, query = {} }: SignableRequest): string {
  const search = new URLSearchParams(query as Record<string, string>);
  return `${protocol}//${headers.host}${path}?${search}`;
}

function createPresignParts(
  signer: S3Client,
  Bucket: string,
  turns: PacedTurns,
): UploadObjects["presignParts"] {
  return async (Key, UploadId, parts, validMs, share) => {
    const [first, ...others] = parts;
    if (first === undefined) return [];
    const { getSignedUrl, S3RequestPresigner } = await presigner();
    const options = { ...expiresIn(validMs), signableHeaders: SIZE };
    const { number: PartNumber, bytes: ContentLength } = first;
    const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, ContentLength });
    const like = new URL(await turns.run(share, () => getSignedUrl(signer, command, options)));
    const urls = [like.href];
    const light = new S3RequestPresigner(signer.config);
    for (let at = 0; at < others.length; at += partsAtOnce)
      await turns.run(share, async () => {
        for (const part of others.slice(at, at + partsAtOnce))
          urls.push(urlOf(await light.presign(partRequest(like, UploadId, part), options)));
      });
    return urls;
  };
}

function createOrigin(settings: NonNullable<Config["objects"]>): UploadObjects["origin"] {
  let origin: Promise<string> | null = null;
  return () => {
    origin ??= readOrigin(settings);
    return origin;
  };
}

export function createUploadObjects(
  store: Pick<ObjectStore, "client" | "bucket" | "within" | "looks">,
  settings: NonNullable<Config["objects"]>,
  clock: Clock,
): UploadObjects {
  const { client, bucket: Bucket, within, looks } = store;
  const signer = createSigner(settings);
  const turns = createPacedTurns(clock, partsLoopPart);

  return {
    origin: createOrigin(settings),
    async validMs(wantedMs) {
      const { expiration } = await signer.config.credentials();
      if (expiration === undefined) return wantedMs;
      return Math.min(wantedMs, Math.max(SHORTEST_MS, expiration.getTime() - clock.now()));
    },
    async presignPut(Key, bytes, validMs) {
      const command = new PutObjectCommand({
        Bucket,
        Key,
        ...(bytes === null ? {} : { ContentLength: bytes }),
      });
      const { getSignedUrl } = await presigner();
      const url = await getSignedUrl(signer, command, { ...expiresIn(validMs), signableHeaders: SIZE });
      return { url, headers: bytes === null ? {} : { "Content-Length": String(bytes) } };
    },
    presignParts: createPresignParts(signer, Bucket, turns),
    async startMultipart(Key) {
      const command = new CreateMultipartUploadCommand({ Bucket, Key });
      const { UploadId } = await within((abortSignal) => client.send(command, { abortSignal }));
      if (UploadId === undefined) throw new Error("object storage started an upload without an id");
      return UploadId;
    },
    async listParts(Key, UploadId, share) {
      const found: StoredPart[] = [];
      let marker: string | undefined;
      do {
        const command = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: marker });
        const page = await within(async (abortSignal) => {
          const end = await looks.acquire(abortSignal, share);
          return client.send(command, { abortSignal }).finally(end);
        }).catch((error) => {
          throw missing(error);
        });
        const { Parts = [] } = page;
        for (const { PartNumber = 0, Size = 0, ETag = "" } of Parts)
          found.push({ number: PartNumber, bytes: Size, etag: ETag });
        // The answer has been parsed.
        await turns.run(share, () => undefined, Parts.length * listedPartMs);
        marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
      } while (marker !== undefined);
      return found;
    },
    async completeMultipart(Key, UploadId, parts) {
      const Parts = parts.map(({ number: PartNumber, etag: ETag }) => ({ PartNumber, ETag }));
      const command = new CompleteMultipartUploadCommand({
        Bucket,
        Key,
        UploadId,
        MultipartUpload: { Parts },
      });
      const { ETag = "" } = await within((abortSignal) => client.send(command, { abortSignal })).catch(
        (error) => {
          throw missing(error);
        },
      );
      return { etag: ETag };
    },
  };
}

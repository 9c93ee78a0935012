import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import { httpStatus, MissingObject } from "./object-errors.ts";
import type { ObjectStore } from "./objects.ts";

/** A part that object storage has. */
export interface StoredPart {
  number: number;
  bytes: number;
  etag: string;
}

/** What lets somebody else write one object, or its parts, without our credentials. URLs are of S3_PUBLIC_ENDPOINT. */
export interface UploadObjects {
  /** How long what is signed now holds, `wantedMs` at most: with temporary credentials no longer than they do. */
  validMs(wantedMs: number): Promise<number>;
  /** @param bytes signed: a body of another length is refused. `headers` are those that must come along. */
  presignPut(
    key: string,
    bytes: number | null,
    validMs: number,
  ): Promise<{ url: string; headers: Record<string, string> }>;
  presignPart(
    key: string,
    multipartId: string,
    part: { number: number; bytes: number },
    validMs: number,
  ): Promise<string>;
  /** @returns the id of an upload in parts */
  beginParts(key: string): Promise<string>;
  /** All of them, by number. @throws MissingObject when there is no such upload (any more) */
  parts(key: string, multipartId: string): Promise<StoredPart[]>;
  /** Makes the parts the object. @throws MissingObject as `parts` */
  completeParts(key: string, multipartId: string, parts: readonly StoredPart[]): Promise<{ etag: string }>;
}

function missing(error: unknown): unknown {
  return httpStatus(error) === 404 ? new MissingObject("no such upload", { cause: error }) : error;
}

/** Loaded by the first URL that is asked for: 40 ms that the start of a process need not wait for. */
const presigner = () => import("@aws-sdk/s3-request-presigner");

/** What is signed besides `Host`, where it is known. */
const SIZE = new Set(["content-length"]);

/** What a URL says in whole seconds: those that hold for none cannot be signed. */
const SHORTEST_MS = 1_000;

/** A client that only signs: it opens no connection. Checksums would have to be known before the bytes are. */
function createSigner(settings: NonNullable<Config["objects"]>): S3Client {
  return new S3Client({
    region: settings.region,
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
    ...(settings.publicEndpoint === null ? {} : { endpoint: settings.publicEndpoint }),
    ...(settings.credentials === null ? {} : { credentials: settings.credentials }),
  });
}

export function createUploadObjects(
  store: Pick<ObjectStore, "client" | "bucket" | "within">,
  settings: NonNullable<Config["objects"]>,
  clock: Pick<Clock, "now">,
): UploadObjects {
  const { client, bucket: Bucket, within } = store;
  const signer = createSigner(settings);
  const expiresIn = (validMs: number) => ({ expiresIn: Math.floor(validMs / 1_000) });

  return {
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
    async presignPart(Key, UploadId, { number: PartNumber, bytes: ContentLength }, validMs) {
      const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, ContentLength });
      const { getSignedUrl } = await presigner();
      return getSignedUrl(signer, command, { ...expiresIn(validMs), signableHeaders: SIZE });
    },
    async beginParts(Key) {
      const command = new CreateMultipartUploadCommand({ Bucket, Key });
      const { UploadId } = await within((abortSignal) => client.send(command, { abortSignal }));
      if (UploadId === undefined) throw new Error("object storage began an upload without an id");
      return UploadId;
    },
    async parts(Key, UploadId) {
      const found: StoredPart[] = [];
      let marker: string | undefined;
      do {
        const command = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: marker });
        const page = await within((abortSignal) => client.send(command, { abortSignal })).catch((error) => {
          throw missing(error);
        });
        for (const { PartNumber = 0, Size = 0, ETag = "" } of page.Parts ?? [])
          found.push({ number: PartNumber, bytes: Size, etag: ETag });
        marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
      } while (marker !== undefined);
      return found;
    },
    async completeParts(Key, UploadId, parts) {
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

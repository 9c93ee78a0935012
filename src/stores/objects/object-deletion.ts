import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type S3Client,
} from "@aws-sdk/client-s3";
import { LIMITS } from "../../config/limits/limits.ts";
import { httpStatus, isObjectsOutage } from "./object-errors.ts";

/** Parts of `ObjectStore`. */
interface Store {
  client: S3Client;
  bucket: string;
  within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** XML 1.0 cannot express these: keys with them are deleted one by one. */
const NOT_FOR_XML = /[\u0000-\u001f\ufffe\uffff]/;

/** Decodes a key of a listing with the encoding `url`. */
function plainKey(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll("+", " "));
}

/** The store does not know the request, or denies it: the caller does without it. */
function isRefused(error: unknown): boolean {
  const status = httpStatus(error) ?? 0;
  return status === 501 || (!isObjectsOutage(error) && status >= 400 && status < 500);
}

/** Calls `work` for each, LIMITS.objects.deletionsInFlight at once. @throws the first failure, after all running calls ended */
async function forEachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failed = false;
  const worker = async () => {
    for (let next = rest.next(); next.done !== true && !failed; next = rest.next())
      await work(next.value).catch((error: unknown) => {
        failed = true;
        throw error;
      });
  };
  const workers = await Promise.allSettled(Array.from({ length: LIMITS.objects.deletionsInFlight }, worker));
  for (const outcome of workers) if (outcome.status === "rejected") throw outcome.reason;
}

/** An upload that is already gone counts as aborted. */
async function abortUpload(
  { client, bucket: Bucket, within }: Store,
  Key: string,
  UploadId: string | undefined,
): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
  await within((abortSignal) => client.send(command, { abortSignal })).catch((error: unknown) => {
    if (httpStatus(error) !== 404) throw error;
  });
}

/** null: the store does not list them; then its own rules must remove them. */
async function uploadsBelow(
  { client, bucket: Bucket, within }: Store,
  Prefix: string,
): Promise<ListMultipartUploadsCommandOutput | null> {
  const command = new ListMultipartUploadsCommand({
    Bucket,
    Prefix,
    MaxUploads: LIMITS.objects.multipartPage,
    EncodingType: "url",
  });
  return within((abortSignal) => client.send(command, { abortSignal })).catch((error: unknown) => {
    if (isRefused(error)) return null;
    throw error;
  });
}

/** Aborts unfinished multipart uploads, at most one page of them. @returns true when no upload is left */
async function abortUploadsBelow(store: Store, Prefix: string): Promise<boolean> {
  const listing = await uploadsBelow(store, Prefix);
  if (listing === null) return true;
  const { Uploads = [], EncodingType } = listing;
  await forEachAtOnce(Uploads, ({ Key = "", UploadId }) =>
    abortUpload(store, EncodingType === "url" ? plainKey(Key) : Key, UploadId),
  );
  return listing.IsTruncated !== true;
}

/** See `ObjectStore.deleteBelow`. */
export function createPrefixDeletion(store: Store) {
  const { client, bucket: Bucket, within } = store;
  /** The store does not support deleting many objects at once. */
  let oneByOne = false;

  async function deleteOne(Key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket, Key });
    await within((abortSignal) => client.send(command, { abortSignal }));
  }

  /** @returns the keys of objects that must be deleted one by one */
  async function deleteMany(keys: readonly string[]): Promise<readonly string[]> {
    const plain = keys.filter((key) => !NOT_FOR_XML.test(key));
    if (oneByOne || plain.length < 2) return keys;
    const Objects = plain.map((Key) => ({ Key }));
    const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
    try {
      const { Errors = [] } = await within((abortSignal) => client.send(command, { abortSignal }));
      const failed = new Set(Errors.map(({ Key }) => Key));
      return keys.filter((key) => NOT_FOR_XML.test(key) || failed.has(key));
    } catch (error) {
      if (!isRefused(error)) throw error;
      oneByOne = true;
      return keys;
    }
  }

  return async (Prefix: string, spared?: string): Promise<boolean> => {
    const noneInParts = await abortUploadsBelow(store, Prefix);
    const command = new ListObjectsV2Command({
      Bucket,
      Prefix,
      MaxKeys: LIMITS.objects.deletionPage,
      // Keys may hold characters that XML cannot express.
      EncodingType: "url",
    });
    const listing = await within((abortSignal) => client.send(command, { abortSignal }));
    const { Contents = [], EncodingType } = listing;
    const listed = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [Key]));
    const found = EncodingType === "url" ? listed.map(plainKey) : listed;
    const keys = spared === undefined ? found : found.filter((key) => !key.startsWith(spared));
    await forEachAtOnce(await deleteMany(keys), deleteOne);
    return noneInParts && listing.IsTruncated !== true;
  };
}

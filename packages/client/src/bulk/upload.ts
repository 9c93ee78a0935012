import { RcptError } from "../http/errors.ts";
import type { Answer } from "../http/paths.ts";
import { pause, Waits } from "../http/pause.ts";
import { fetchOnce, type Transport } from "../http/transport.ts";
import type { ReadableFile } from "./readable-file.ts";

const PART_BYTES = 16 * 1_048_576;
const PARTS_AT_ONCE = 3;
/** Timeout of one part, on the slowest usable connection. */
const PART_TIMEOUT_MS = 15 * 60_000;
const ATTEMPTS = 6;
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 15_000;
const STORAGE_AWAY =
  'Object storage cannot be reached. With `via: "service"` the file goes through the service.';

/** Progress of an upload. */
export interface UploadProgress {
  /** Resumes an interrupted upload (`resume`); null: a stream, whose id is unknown before the end. */
  uploadId: string | null;
  sentBytes: number;
  /** null: not known, of a stream. */
  totalBytes: number | null;
}

export interface UploadContext {
  transport: Transport;
  signal: AbortSignal;
  filename: string | undefined;
  /** Id of a multipart upload that was started before. */
  resume: string | undefined;
  partBytes: number | undefined;
  onProgress: ((progress: UploadProgress) => void) | undefined;
}

interface Part {
  number: number;
  firstByte: number;
  bytes: number;
  /** null: it is sent. */
  url: string | null;
}

type Created = Answer<"POST", "/v1/uploads">;

/** An upload of a file in progress. */
interface Sending extends UploadContext {
  id: string;
  file: ReadableFile;
  sentBytes: number;
}

function report(sending: Sending, bytes: number): void {
  sending.sentBytes += bytes;
  const { id: uploadId, sentBytes, file } = sending;
  sending.onProgress?.({ uploadId, sentBytes, totalBytes: file.bytes });
}

async function listParts({ transport, signal }: UploadContext, upload: string): Promise<Part[]> {
  const path = "/v1/uploads/{upload}/parts";
  const request = { method: "GET", path, parameters: { upload }, signal };
  const { data } = (await transport.json(request)) as Answer<"GET", typeof path>;
  return data.map(({ part_number, first_byte, bytes, sent, url }) => ({
    number: part_number,
    firstByte: first_byte,
    bytes,
    url: sent ? null : url,
  }));
}

async function putOnce(sending: Sending, { firstByte, bytes, url }: Part): Promise<number> {
  const { transport, file, signal } = sending;
  const body = await file.read(firstByte, bytes);
  const size = body instanceof Blob ? body.size : body.length;
  if (size !== bytes)
    throw new RcptError("file_changed", `The file has become shorter than ${file.bytes} bytes.`);
  const within = AbortSignal.any([signal, AbortSignal.timeout(PART_TIMEOUT_MS)]);
  const init = { method: "PUT", body: body as NonNullable<RequestInit["body"]>, signal: within };
  try {
    const response = await fetchOnce(transport.fetch, url ?? "", init);
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof RcptError || within.aborted ? 0 : Promise.reject(error);
  }
}

/** Sends a part until object storage has it: a PUT may be repeated. Its URL is asked for anew where it has expired. */
async function sendPart(sending: Sending, part: Part): Promise<void> {
  const waits = new Waits(FIRST_WAIT_MS, LAST_WAIT_MS);
  for (let attempt = 1; ; attempt++) {
    const status = await putOnce(sending, part);
    if (status >= 200 && status < 300) return report(sending, part.bytes);
    const mayPass = status === 0 || status === 403 || status === 429 || status >= 500;
    if (!mayPass || attempt === ATTEMPTS) {
      if (status === 0) throw new RcptError("network_error", STORAGE_AWAY);
      throw new RcptError("http_error", `Object storage refused a part of the file (${status}).`, { status });
    }
    await pause(waits.nextMs(), sending.signal);
    if (status !== 403) continue;
    const fresh = (await listParts(sending, sending.id)).find(({ number }) => number === part.number);
    if (fresh?.url == null) return report(sending, part.bytes);
    part.url = fresh.url;
  }
}

async function sendParts(sending: Sending, parts: Part[]): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([sending.signal, failure.signal]);
  const waiting = parts.filter(({ url }) => url !== null);
  const missing = waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  // The workers count in one place.
  const shared: Sending = { ...sending, signal, sentBytes: sending.file.bytes - missing };
  report(shared, 0);
  async function sendNext(): Promise<void> {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) await sendPart(shared, part);
  }
  try {
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, sendNext));
  } finally {
    // After a failure the other requests in flight are useless.
    failure.abort();
  }
}

async function create(
  { transport, signal, filename, partBytes }: UploadContext,
  file: ReadableFile,
): Promise<Created> {
  const body = { filename: filename ?? file.name, bytes: file.bytes, part_bytes: partBytes ?? PART_BYTES };
  const request = { method: "POST", path: "/v1/uploads", body, signal };
  return (await transport.json(request)) as Created;
}

async function resumed(context: UploadContext, upload: string, file: ReadableFile): Promise<Part[]> {
  const parts = await listParts(context, upload);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes === file.bytes) return parts;
  throw new RcptError(
    "file_changed",
    `The upload ${upload} is of ${bytes} bytes, the file has ${file.bytes}.`,
  );
}

/** Whether the file is complete: another process may have completed the upload, or an answer was lost. */
async function isStored({ transport, signal }: UploadContext, upload: string, file: ReadableFile) {
  const path = "/v1/uploads/{upload}";
  const request = { method: "GET", path, parameters: { upload }, signal };
  const { status, bytes } = (await transport.json(request)) as Answer<"GET", typeof path>;
  return status === "stored" && bytes === file.bytes;
}

/** @param parts null: sends the missing parts of an upload that was started before */
async function sendAll(
  context: UploadContext,
  id: string,
  file: ReadableFile,
  parts: Part[] | null,
): Promise<void> {
  const { transport, signal } = context;
  try {
    await sendParts({ ...context, id, file, sentBytes: 0 }, parts ?? (await resumed(context, id, file)));
    const path = "/v1/uploads/{upload}/complete";
    await transport.json({ method: "POST", path, parameters: { upload: id }, signal });
  } catch (error) {
    const isGone = error instanceof RcptError && error.status === 404;
    if (!isGone || !(await isStored(context, id, file))) throw error;
  }
}

/**
 * Sends a file in parts to object storage, each by a URL of its own. @returns the upload's id
 * @throws RcptError; the reason of `signal`
 */
export async function uploadInParts(context: UploadContext, file: ReadableFile): Promise<string> {
  const { resume } = context;
  if (resume !== undefined) {
    await sendAll(context, resume, file, null);
    return resume;
  }
  const { id, parts = [] } = await create(context, file);
  const partsToSend = parts.map(({ part_number: number, first_byte: firstByte, bytes, url }) => {
    return { number, firstByte, bytes, url };
  });
  await sendAll(context, id, file, partsToSend);
  return id;
}

/** A stream that reports what passes. */
function counting(onBytes: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(piece, controller) {
      onBytes(piece.length);
      controller.enqueue(piece);
    },
  });
}

/**
 * Sends a file through the service as one body. A stream comes once, so nothing of it is repeated. @returns the upload's id
 * @throws RcptError; the reason of `signal`
 */
export async function uploadWhole(
  { transport, signal, filename, onProgress }: UploadContext,
  { name, body }: { name: string; body: ReadableStream<Uint8Array> | Blob },
): Promise<string> {
  let sentBytes = 0;
  const onBytes = (bytes: number) => {
    sentBytes += bytes;
    onProgress?.({ uploadId: null, sentBytes, totalBytes: null });
  };
  const path = "/v1/uploads/{upload}";
  const request = {
    ...{ method: "PUT", path, parameters: { upload: filename ?? name }, signal },
    body: body instanceof Blob ? body : body.pipeThrough(counting(onBytes), { signal }),
    timeoutMs: Number.POSITIVE_INFINITY,
  };
  const { id, bytes } = (await transport.json(request)) as Answer<"PUT", typeof path>;
  onProgress?.({ uploadId: id, sentBytes: bytes ?? sentBytes, totalBytes: bytes });
  return id;
}

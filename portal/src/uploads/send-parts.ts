import { api, dataOf } from "../api/client.ts";
import { persistently, Waits } from "../api/persistently.ts";
import { mayPass } from "../api/retry.ts";
import { put } from "./put.ts";

/** Concurrent parts: more would not make the connection faster. */
const PARTS_AT_ONCE = 3;
/** Times that a refused part gets new URLs. */
const RENEWALS = 2;
/** The URL has expired, or the upload is not open any more: to ask for its parts says which. */
const OUTDATED: ReadonlySet<number> = new Set([403, 404]);
/** Attempts without an answer, while the API answers, until object storage counts as out of reach. */
const UNANSWERED = 2;

export interface Part {
  number: number;
  firstByte: number;
  bytes: number;
  isSent: boolean;
  /** null: another one is asked for before it is sent. */
  url: string | null;
}

/** Pages cannot reach object storage, though they reach the API: it is in another network, or does not allow them. */
export class StorageOutOfReach extends Error {
  override name = "StorageOutOfReach";
}

interface PartsListener {
  /** Bytes of a part sent in the current attempt; 0: no attempt is in progress. */
  onProgress(part: Part, bytes: number): void;
  onLost(): void;
}

interface Sending {
  uploadId: string;
  file: File;
  parts: Part[];
  listener: PartsListener;
  signal: AbortSignal;
}

/** The parts of an upload as object storage has them, and new URLs for the others. */
export async function readParts(uploadId: string, signal: AbortSignal): Promise<Part[]> {
  const path = { upload: uploadId };
  const { data } = await dataOf(api.GET("/v1/uploads/{upload}/parts", { params: { path }, signal }));
  return data.map((part) => ({
    number: part.part_number,
    firstByte: part.first_byte,
    bytes: part.bytes,
    isSent: part.sent,
    url: part.url,
  }));
}

/** @throws Error when the file on the disk is not there any more, or another one */
export async function ensureReadable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error("The file cannot be read any more: it was moved or changed. Choose it again.");
  }
}

async function renewUrls({ uploadId, parts, listener, signal }: Sending): Promise<void> {
  const fresh = await persistently(() => readParts(uploadId, signal), signal, listener.onLost);
  for (const [i, part] of parts.entries()) {
    part.url = fresh[i]?.url ?? null;
    // The response was lost, but the part has arrived.
    part.isSent ||= fresh[i]?.isSent === true;
  }
}

/** @throws StorageOutOfReach when it was not the connection */
async function ensureInReach({ uploadId, parts, signal }: Sending, attempts: number): Promise<void> {
  if (attempts < UNANSWERED || parts.some(({ isSent }) => isSent)) return;
  const path = { upload: uploadId };
  const isThere = await api.GET("/v1/uploads/{upload}", { params: { path }, signal }).then(
    () => true,
    () => false,
  );
  if (isThere && navigator.onLine)
    throw new StorageOutOfReach("Object storage does not answer this browser.");
}

async function sendPart(sending: Sending, part: Part): Promise<void> {
  const { file, listener, signal } = sending;
  const waits = new Waits();
  let [unanswered, renewals] = [0, 0];
  for (;;) {
    if (part.url === null) await renewUrls(sending);
    if (part.isSent) return listener.onProgress(part, 0);
    const body = file.slice(part.firstByte, part.firstByte + part.bytes);
    let hasMoved = false;
    if (part.url === null) throw new Error("The service has no address for a part of the file.");
    const { status } = await put(part.url, body, {
      signal,
      onProgress(bytes) {
        hasMoved ||= bytes > 0;
        listener.onProgress(part, bytes);
      },
    });
    if (status >= 200 && status < 300) {
      part.isSent = true;
      listener.onProgress(part, 0);
      return;
    }
    listener.onProgress(part, 0);
    await ensureReadable(file);
    if (OUTDATED.has(status) && renewals < RENEWALS) {
      renewals += 1;
      part.url = null;
      continue;
    }
    if (!mayPass(status)) throw new Error(`Object storage refused a part of the file (${status}).`);
    unanswered += status === 0 && !hasMoved ? 1 : 0;
    await ensureInReach(sending, unanswered);
    listener.onLost();
    await waits.wait(signal);
  }
}

/**
 * Sends the parts that object storage does not have yet, in as many attempts as needed.
 * @throws StorageOutOfReach, Problem, Error; the reason of `signal`
 */
export async function sendParts(sending: Sending): Promise<void> {
  const failure = new AbortController();
  const each = { ...sending, signal: AbortSignal.any([sending.signal, failure.signal]) };
  const waiting = sending.parts.filter(({ isSent }) => !isSent);
  async function sendNext(): Promise<void> {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) await sendPart(each, part);
  }
  try {
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, sendNext));
  } finally {
    // After a failure, parts in progress are of no use.
    failure.abort();
  }
}

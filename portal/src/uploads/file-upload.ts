import { api, dataOf, ensureSameTeam, PORTAL_HEADERS, Problem } from "../api/client.ts";
import { lostSession } from "../api/lost-session.ts";
import { persistently, Waits } from "../api/persistently.ts";
import { mayPass } from "../api/retry.ts";
import { BASE_PATH } from "../base-path.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { forgetUpload, type KeptUpload, keepUpload } from "./kept-uploads.ts";
import { Pace } from "./pace.ts";
import { put } from "./put.ts";
import { ensureReadable, type Part, readParts, StorageOutOfReach, sendParts } from "./send-parts.ts";
import { whileSeen } from "./upload-lock.ts";

const MIB = 1_048_576;
/** A part that breaks off is sent again: small ones cost less then, but each costs a request. */
const PART_BYTES = { least: 5 * MIB, most: 16 * MIB };
const PARTS = 8;
/** Minimum interval of progress reports: a thousand events a second would all be rendered. */
const NOTIFY_EVERY_MS = 150;

export interface UploadState {
  phase: "sending" | "paused" | "completing" | "stored" | "failed";
  /** The connection broke off, and is tried again. */
  isLost: boolean;
  /** Sent through the API, since object storage is unreachable: it cannot be paused or resumed. */
  isThroughApi: boolean;
  sentBytes: number;
  /** null: not known yet. */
  bytesPerS: number | null;
  uploadId: string | null;
  error: unknown;
}

const partBytesOf = (bytes: number): number =>
  Math.min(PART_BYTES.most, Math.max(PART_BYTES.least, Math.ceil(bytes / PARTS)));

/** Converts a name to one that the API takes: no control characters, no slashes, 255 characters. */
function namedForApi(name: string): string {
  const cleaned = name.replace(/[\p{Cc}\p{Cs}/\\]/gu, "_");
  return Array.from(cleaned).slice(0, 255).join("").slice(0, 255) || "list";
}

/** A file being sent to object storage, in parts. So it can be paused, and resumed even after the page was closed. */
export class FileUpload {
  readonly file: File;
  readonly #teamId: string;
  #creationKey = "";
  readonly #listeners = new Set<() => void>();
  readonly #underWay = new Map<number, number>();
  readonly #pace = new Pace();
  #parts: Part[] | null = null;
  #control = new AbortController();
  #notifiedMs = 0;
  #state: UploadState = {
    phase: "paused",
    isLost: false,
    isThroughApi: false,
    sentBytes: 0,
    bytesPerS: null,
    uploadId: null,
    error: null,
  };

  /** @param kept record of an earlier upload of this file */
  constructor(file: File, teamId: string, kept: KeptUpload | null = null) {
    this.file = file;
    this.#teamId = teamId;
    this.#state.uploadId = kept?.id ?? null;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): UploadState => this.#state;

  /** Starts, or resumes after a pause or a failure. */
  readonly start = (): void => {
    if (!["paused", "failed"].includes(this.#state.phase)) return;
    this.#control = new AbortController();
    this.#creationKey = crypto.randomUUID();
    this.#pace.clear();
    this.#change({ phase: "sending", isLost: false, bytesPerS: null, error: null });
    const { signal } = this.#control;
    this.#send(signal).catch((error: unknown) => this.#endOrFail(error, signal));
  };

  readonly pause = (): void => {
    if (this.#state.phase !== "sending") return;
    this.#control.abort();
    this.#underWay.clear();
    this.#change({ phase: "paused", isLost: false, bytesPerS: null, sentBytes: this.#countSent() });
  };

  /** Cancels the upload; sent parts are deleted. */
  readonly giveUp = async (): Promise<void> => {
    this.pause();
    this.#control.abort();
    if (this.#state.uploadId !== null) await deleteUpload(this.#state.uploadId);
  };

  async #endOrFail(error: unknown, signal: AbortSignal): Promise<void> {
    const { uploadId } = this.#state;
    const isGone = error instanceof Problem && error.status === 404;
    const isWhole = isGone && uploadId !== null && (await isStored(uploadId, signal));
    if (signal.aborted) return;
    if (isWhole) this.#end(uploadId);
    else this.#fail(error, isGone);
  }

  #fail(error: unknown, isGone: boolean): void {
    // The next attempt resumes with the parts that object storage has. If the upload is gone, it starts from the beginning.
    this.#parts = null;
    if (isGone && this.#state.uploadId !== null) forgetUpload(this.#state.uploadId);
    this.#change({ phase: "failed", error, ...(isGone ? { uploadId: null, sentBytes: 0 } : {}) });
  }

  #change(changes: Partial<UploadState>): void {
    this.#state = { ...this.#state, ...changes };
    this.#notifiedMs = Date.now();
    for (const listener of this.#listeners) listener();
  }

  readonly #onLost = (): void => this.#change({ isLost: true, bytesPerS: null });

  #countSent(): number {
    const whole = (this.#parts ?? []).reduce((sum, part) => sum + (part.isSent ? part.bytes : 0), 0);
    return [...this.#underWay.values()].reduce((sum, bytes) => sum + bytes, whole);
  }

  #onProgress(sentBytes: number, isDue: boolean): void {
    const nowMs = Date.now();
    const bytesPerS = this.#pace.note(nowMs, sentBytes);
    if (isDue || nowMs - this.#notifiedMs >= NOTIFY_EVERY_MS)
      this.#change({ sentBytes, bytesPerS, ...(isDue ? {} : { isLost: false }) });
  }

  readonly #onPart = (part: Part, bytes: number): void => {
    if (bytes === 0) this.#underWay.delete(part.number);
    else this.#underWay.set(part.number, bytes);
    this.#onProgress(this.#countSent(), bytes === 0);
  };

  async #send(signal: AbortSignal): Promise<void> {
    await ensureReadable(this.file);
    if (this.#state.isThroughApi) return this.#sendThroughApi(signal);
    const uploadId = this.#state.uploadId ?? (await this.#create(signal));
    await whileSeen(uploadId, () => this.#sendInParts(uploadId, signal));
  }

  async #sendInParts(uploadId: string, signal: AbortSignal): Promise<void> {
    this.#parts ??= await persistently(() => readParts(uploadId, signal), signal, this.#onLost);
    this.#change({ sentBytes: this.#countSent(), isLost: false });
    const listener = { onProgress: this.#onPart, onLost: this.#onLost };
    try {
      await sendParts({ uploadId, file: this.file, parts: this.#parts, listener, signal });
    } catch (error) {
      if (!(error instanceof StorageOutOfReach)) throw error;
      await deleteUpload(uploadId).catch(() => undefined);
      this.#parts = null;
      this.#change({ isThroughApi: true, isLost: false, uploadId: null });
      return this.#sendThroughApi(signal);
    }
    this.#change({ phase: "completing", isLost: false });
    const path = { upload: uploadId };
    const complete = () => api.POST("/v1/uploads/{upload}/complete", { params: { path }, signal });
    await persistently(complete, signal, this.#onLost);
    this.#end(uploadId);
  }

  /** @returns the upload's id */
  async #create(signal: AbortSignal): Promise<string> {
    const { file } = this;
    const body = { filename: namedForApi(file.name), bytes: file.size, part_bytes: partBytesOf(file.size) };
    const params = { header: { "Idempotency-Key": this.#creationKey } };
    const create = () => dataOf(api.POST("/v1/uploads", { params, body, signal }));
    const { id, parts = [] } = await persistently(create, signal, this.#onLost);
    this.#change({ uploadId: id, isLost: false });
    const fingerprint = await fingerprintOf(file);
    keepUpload({ id, teamId: this.#teamId, name: body.filename, bytes: file.size, fingerprint });
    this.#parts = parts.map((part) => ({
      number: part.part_number,
      firstByte: part.first_byte,
      bytes: part.bytes,
      isSent: false,
      url: part.url,
    }));
    return id;
  }

  async #sendThroughApi(signal: AbortSignal): Promise<void> {
    const url = `${BASE_PATH}/v1/uploads/${encodeURIComponent(namedForApi(this.file.name))}`;
    const onProgress = (bytes: number) => this.#onProgress(bytes, false);
    const waits = new Waits();
    for (;;) {
      ensureSameTeam();
      const { status, text } = await put(url, this.file, { headers: PORTAL_HEADERS, onProgress, signal });
      if (status === 201) return this.#end((JSON.parse(text) as { id: string }).id);
      if (status === 401) lostSession.set("signed out");
      if (!mayPass(status)) throw problemIn(status, text);
      await ensureReadable(this.file);
      this.#onLost();
      await waits.wait(signal);
    }
  }

  #end(uploadId: string): void {
    forgetUpload(uploadId);
    this.#change({ phase: "stored", isLost: false, sentBytes: this.file.size, uploadId });
  }
}

function problemIn(status: number, text: string): Problem {
  try {
    return new Problem(status, JSON.parse(text), null);
  } catch {
    return new Problem(status, null, null);
  }
}

/** Whether an upload is whole: another page of the browser has completed it, or the answer to this one was lost. */
async function isStored(id: string, signal: AbortSignal): Promise<boolean> {
  const path = { upload: id };
  const upload = await dataOf(api.GET("/v1/uploads/{upload}", { params: { path }, signal })).catch(
    () => null,
  );
  return upload?.status === "stored";
}

/** Deletes an upload, which may be gone already, and its local record. */
export async function deleteUpload(id: string): Promise<void> {
  try {
    await api.DELETE("/v1/uploads/{upload}", { params: { path: { upload: id } } });
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404)) throw error;
  }
  forgetUpload(id);
}

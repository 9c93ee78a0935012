import { AppError } from "../core/errors.ts";

/** What a body is read from: uWebSockets.js' response, by the one method that is needed. */
export interface BodySource {
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
}

/** Bytes that all bodies being collected may hold together. */
export interface BodyBudget {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

export interface RequestBody {
  /**
   * The whole body.
   * @throws AppError `body_too_large` over the limit, `overloaded` when all bodies together are over the budget
   */
  readonly bytes: Promise<Buffer>;
  /**
   * Forgets what was collected and stops collecting; the server goes on reading and dropping. `bytes` rejects unless it
   * is settled. Idempotent.
   */
  abandon(): void;
}

export function createBodyBudget(maxBytes: number): BodyBudget {
  let used = 0;
  return {
    take(bytes) {
      if (used + bytes > maxBytes) return false;
      used += bytes;
      return true;
    },
    giveBack(bytes) {
      used -= bytes;
    },
  };
}

const FIRST_ALLOCATION_BYTES = 4_096;

/** Grows by doubling, so that a body sent byte by byte costs no object per chunk and never over twice its size. */
export function createGrowingBuffer(limitBytes: number, budget: BodyBudget) {
  let buffer = Buffer.alloc(0);
  let length = 0;

  function grow(needed: number): boolean {
    const size = Math.min(limitBytes, Math.max(needed, buffer.length * 2, FIRST_ALLOCATION_BYTES));
    if (!budget.take(size - buffer.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
    return true;
  }

  return {
    /** False: over the budget. The chunk is copied: its memory is the server's. */
    append(chunk: Uint8Array): boolean {
      if (length + chunk.length > buffer.length && !grow(length + chunk.length)) return false;
      buffer.set(chunk, length);
      length += chunk.length;
      return true;
    },
    get length() {
      return length;
    },
    content: () => buffer.subarray(0, length),
    free() {
      budget.giveBack(buffer.length);
      buffer = Buffer.alloc(0);
      length = 0;
    },
  };
}

export function tooLarge(limitBytes: number): AppError {
  return new AppError("body_too_large", `The request body is over the limit of ${limitBytes} bytes.`);
}

export function overBudget(): AppError {
  return new AppError("overloaded", "Too many request bodies at once.", { retryAfterS: 1 });
}

/**
 * Starts to collect a body; must be called before the request's handler returns.
 * @param declaredBytes `Content-Length`, null when chunked: over the limit it is refused before a byte is kept
 */
export function collectBody(
  source: BodySource,
  options: { limitBytes: number; declaredBytes: number | null; budget: BodyBudget },
): RequestBody {
  const { limitBytes, declaredBytes, budget } = options;
  const buffer = createGrowingBuffer(limitBytes, budget);
  let collecting = true;
  let resolve: (bytes: Buffer) => void = () => {};
  let reject: (error: AppError) => void = () => {};
  const bytes = new Promise<Buffer>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // A request refused before its body is looked at leaves nobody to hear of the body's own failure.
  bytes.catch(() => {});

  function fail(error: AppError): void {
    collecting = false;
    buffer.free();
    reject(error);
  }

  source.onData((chunk, isLast) => {
    if (!collecting) return;
    if (buffer.length + chunk.byteLength > limitBytes) return fail(tooLarge(limitBytes));
    if (chunk.byteLength > 0 && !buffer.append(new Uint8Array(chunk))) return fail(overBudget());
    if (isLast) {
      collecting = false;
      resolve(buffer.content());
    }
  });
  if (declaredBytes !== null && declaredBytes > limitBytes) fail(tooLarge(limitBytes));
  // Whoever waits for a body whose client has gone must end too; a promise that is settled already stays as it is.
  return { bytes, abandon: () => fail(new AppError("bad_request", "The request ended before its body.")) };
}

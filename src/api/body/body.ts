import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { BodyAccount } from "./body-budget.ts";
import { bodyBudgetExceeded, type IncomingBody } from "./incoming-body.ts";

export interface RequestBody {
  /**
   * The whole body, which is collected from when it is first asked for.
   * @throws AppError `body_too_large` over the limit, `overloaded` when its account's bodies together are over the budget, and
   *   those of `IncomingBody.read`
   */
  readonly bytes: Promise<Buffer>;
  /** Frees the collected bytes and stops collecting. Idempotent. */
  abandon(): void;
}

export interface CollectOptions {
  limitBytes: number;
  /**
   * The account to charge, asked for when collecting begins, once the sender is authenticated. An error thrown here refuses
   * the body.
   */
  account(): BodyAccount;
  /** Looks at each piece of the decoded body before it is kept. @throws AppError: nothing more is collected */
  inspect?(piece: Uint8Array): void;
}

const FIRST_ALLOCATION_BYTES = 4_096;

/** Grows by doubling, so that a body sent byte by byte costs no object per chunk and never over twice its size. */
export function createGrowingBuffer(limitBytes: number, account: BodyAccount) {
  let buffer = Buffer.alloc(0);
  let length = 0;
  /** Bytes taken of the account: the buffer's own length is 0 once it was handed to another thread. */
  let taken = 0;

  function grow(needed: number): boolean {
    const size = Math.min(limitBytes, Math.max(needed, buffer.length * 2, FIRST_ALLOCATION_BYTES));
    if (!account.take(size - taken)) return false;
    taken = size;
    const larger = Buffer.allocUnsafeSlow(size);
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
    return true;
  }

  return {
    /** Charges the minimum for a body that is expected, even if no byte of it arrives. False: over the budget. */
    begin: () => grow(0),
    /** False: over the budget. The chunk is copied. */
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
      account.giveBack(taken);
      taken = 0;
      buffer = Buffer.alloc(0);
      length = 0;
    },
  };
}

export function bodyTooLarge(limitBytes: number): AppError {
  return new AppError("body_too_large", `The request body is over the limit of ${limitBytes} bytes.`);
}

/** A body that is collected when it is asked for, as plain bytes. A declared length over the limit is refused before a byte is kept. */
export function collectBody(
  incoming: IncomingBody,
  { limitBytes, account, inspect }: CollectOptions,
): RequestBody {
  let bytes: Promise<Buffer> | null = null;
  let abandoned = false;
  let free: () => void = () => {};

  async function collect(): Promise<Buffer> {
    const buffer = createGrowingBuffer(limitBytes, account());
    free = () => buffer.free();
    try {
      const pieces = incoming.read(limitBytes, () => bodyTooLarge(limitBytes));
      if (!buffer.begin()) throw bodyBudgetExceeded();
      for await (const piece of pieces) {
        if (abandoned) throw new AppError("bad_request", "The request ended before its body.");
        inspect?.(piece);
        if (!buffer.append(piece)) throw bodyBudgetExceeded();
      }
      return buffer.content();
    } catch (error) {
      free();
      throw error;
    }
  }

  return {
    get bytes() {
      bytes ??= collect();
      return bytes;
    },
    abandon() {
      abandoned = true;
      free();
    },
  };
}

/**
 * Reads and drops the body of a request whose route takes none, so that the answer comes after the body: see linger.ts.
 * @throws AppError those of `IncomingBody.read`, `body_too_large`
 */
export async function discardBody(incoming: IncomingBody): Promise<void> {
  const { droppedBytes } = LIMITS.http.bodies;
  const pieces = incoming.read(droppedBytes, () => bodyTooLarge(droppedBytes));
  for await (const _ of pieces);
}

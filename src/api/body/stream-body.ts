import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { BodyStream } from "../reply/reply.ts";

/** The methods of uWebSockets.js' response that a streamed body needs. */
export interface StreamWriter {
  cork(write: () => void): unknown;
  write(chunk: Uint8Array): boolean;
  tryEnd(body: Uint8Array, totalBytes: number): [boolean, boolean];
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): unknown;
  end(): unknown;
}

/** The stream yielded another number of bytes than announced. */
export class WrongStreamLength extends Error {
  override name = "WrongStreamLength";
}

const { pieceBytes, chunkBytes, keptBytes, quietMs, turnBytes } = LIMITS.http.streams;

export interface StreamSendOptions {
  /** Aborted when the client has gone or the body is cut off: the response must not be touched from then on. */
  clientGone: AbortSignal;
  clock: Clock;
  /** Called with the number of bytes that were sent. */
  onSent(bytes: number): void;
  /** Called when sending waits for the client to take more, and when it goes on. */
  onWaiting(isWaiting: boolean): void;
}

/** Waits until the connection can take more. */
function createDrainWait({ clientGone: gone, clock, onWaiting }: StreamSendOptions) {
  let pass: ((isQuiet: boolean) => void) | null = null;
  return {
    open: () => pass?.(false),
    /** Resolves when the connection takes more, or with true after `withinMs`. Rejects when the client has disconnected. */
    wait: (withinMs?: number): Promise<boolean> =>
      new Promise((resolve, reject) => {
        const timer = withinMs === undefined ? null : clock.after(withinMs, () => pass?.(true));
        const settle = (then: () => void) => {
          pass = null;
          timer?.cancel();
          gone.removeEventListener("abort", refuse);
          onWaiting(false);
          then();
        };
        const refuse = () => settle(() => reject(gone.reason));
        onWaiting(true);
        pass = (isQuiet) => settle(() => resolve(isQuiet));
        gone.addEventListener("abort", refuse, { once: true });
        if (gone.aborted) refuse();
      }),
  };
}

type Wait = ReturnType<typeof createDrainWait>["wait"];

/**
 * The pieces until `gone` is aborted. Yields the event loop every `turnBytes`, so that other requests are served however
 * fast this body is sent.
 */
async function* whileClientPresent(
  pieces: AsyncIterable<Uint8Array>,
  gone: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    gone.throwIfAborted();
    yield piece;
    bytes += piece.length;
    if (bytes < turnBytes) continue;
    bytes = 0;
    await turn();
    gone.throwIfAborted();
  }
}

/** The same bytes in pieces of `pieceBytes` or more, but for the last. */
async function* inLargePieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let small: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    small.push(piece);
    bytes += piece.length;
    if (bytes < pieceBytes) continue;
    yield small.length === 1 ? piece : Buffer.concat(small);
    small = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(small);
}

/** Sends a body of known length. `tryEnd` sends only what the connection takes, and buffers nothing. */
async function sendWithLength(
  response: StreamWriter,
  pieces: AsyncIterable<Uint8Array>,
  totalBytes: number,
  { wait, sent }: { wait: Wait; sent: StreamSendOptions["onSent"] },
): Promise<void> {
  let offset = 0;
  for await (const piece of pieces) {
    if (offset + piece.length > totalBytes)
      throw new WrongStreamLength(`a body of ${totalBytes} bytes goes on`);
    for (let rest = piece; rest.length > 0; ) {
      const slice = rest.subarray(0, pieceBytes);
      let isComplete = false;
      let taken = slice.length;
      response.cork(() => {
        [, isComplete] = response.tryEnd(slice, totalBytes);
        if (!isComplete) taken = response.getWriteOffset() - offset;
      });
      offset += taken;
      sent(taken);
      if (isComplete) return;
      rest = rest.subarray(taken);
      if (taken < slice.length) await wait();
    }
  }
  if (totalBytes > 0) throw new WrongStreamLength(`a body of ${totalBytes} bytes ended after ${offset}`);
  response.cork(() => response.end());
}

/**
 * Sends a body of unknown length, in chunks. uWebSockets.js buffers what the connection does not take, and does not tell
 * how much: a write returns only whether all earlier writes were sent. So buffered bytes count until a write returns true.
 * At the limit writing stops until the client has taken them. A client that takes none of them within 12 s is cut off. So
 * when nothing was sent for `quietMs` and the client was not cut off, the buffer is empty.
 *
 * No chunk exceeds what uWebSockets.js gathers before it writes. Versions before April 2026 may drop the bytes of a larger
 * chunk, when the connection becomes full at the chunk's own head. The client then reads the following bytes as its
 * content.
 */
async function sendChunks(
  response: StreamWriter,
  pieces: AsyncIterable<Uint8Array>,
  { wait, onSent: sent }: Pick<StreamSendOptions, "onSent"> & { wait: Wait },
): Promise<void> {
  let kept = 0;
  // The head was gathered in this tick. From the next tick on, a chunk is gathered alone.
  await turn();
  for await (const piece of pieces)
    for (let at = 0; at < piece.length; at += chunkBytes) {
      const chunk = piece.subarray(at, at + chunkBytes);
      let isEarlierGone = true;
      response.cork(() => {
        isEarlierGone = response.write(chunk);
      });
      sent(chunk.length);
      kept = chunk.length + (isEarlierGone ? 0 : kept);
      if (!isEarlierGone && (await wait(quietMs))) kept = 0;
      while (kept > keptBytes) if (await wait(quietMs)) kept = 0;
    }
  response.cork(() => response.end());
}

/**
 * Sends a body after its head, as fast as the client takes it, and in turns with other streams. uWebSockets.js cuts off a
 * client that takes nothing for about 10 s.
 * @throws the reason of `gone`; WrongStreamLength; errors of the stream. If the connection is still open, the caller must
 *   close it then.
 */
export async function sendStream(
  response: StreamWriter,
  body: BodyStream,
  sending: StreamSendOptions,
): Promise<void> {
  const { clientGone: gone, onSent: sent } = sending;
  const { open, wait } = createDrainWait(sending);
  response.onWritable(() => {
    // Sends the kept bytes: with an `onWritable` handler set, uWebSockets.js leaves that to the handler.
    if (body.bytes === null) response.cork(() => {});
    open();
    return true;
  });
  const pieces = whileClientPresent(body.open(gone), gone);
  if (body.bytes !== null) await sendWithLength(response, pieces, body.bytes, { wait, sent });
  // An endless stream is sent piece by piece, without waiting for large pieces.
  else
    await sendChunks(response, body.endless === true ? pieces : inLargePieces(pieces), {
      wait,
      onSent: sent,
    });
}

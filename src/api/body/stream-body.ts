import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { BodyStream } from "../reply/reply.ts";

/** uWebSockets.js' response, by what a streamed body needs of it. */
export interface StreamWriter {
  cork(write: () => void): unknown;
  write(chunk: Uint8Array): boolean;
  tryEnd(body: Uint8Array, totalBytes: number): [boolean, boolean];
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): unknown;
  end(): unknown;
}

/** The stream gave another number of bytes than it had said. */
export class WrongStreamLength extends Error {
  override name = "WrongStreamLength";
}

const { pieceBytes, chunkBytes, keptBytes, quietMs, turnBytes } = LIMITS.http.streams;

export interface StreamSendOptions {
  /** Aborted when nobody wants more: the response must not be touched from then on. */
  clientGone: AbortSignal;
  clock: Clock;
  /** Told of bytes that went out. */
  onSent(bytes: number): void;
}

/** Whoever waits for the connection to take more. */
function createDrainWait({ clientGone: gone, clock }: StreamSendOptions) {
  let pass: ((isQuiet: boolean) => void) | null = null;
  return {
    open: () => pass?.(false),
    /** Until the connection takes more, or for `withinMs`: then true. Rejects when the client has gone. */
    wait: (withinMs?: number): Promise<boolean> =>
      new Promise((resolve, reject) => {
        const timer = withinMs === undefined ? null : clock.after(withinMs, () => pass?.(true));
        const settle = (then: () => void) => {
          pass = null;
          timer?.cancel();
          gone.removeEventListener("abort", refuse);
          then();
        };
        const refuse = () => settle(() => reject(gone.reason));
        pass = (isQuiet) => settle(() => resolve(isQuiet));
        gone.addEventListener("abort", refuse, { once: true });
        if (gone.aborted) refuse();
      }),
  };
}

type Wait = ReturnType<typeof createDrainWait>["wait"];

/** The pieces while somebody wants them; others have their turn of the event loop however fast all goes. */
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

/** Of a known length: `tryEnd` takes what the connection takes, and keeps nothing. */
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
 * Of an unknown length, in chunks. What the connection does not take is kept by uWebSockets.js, which never says how much:
 * a write tells only whether all that was written before it has gone out. So what is kept is counted as if nothing of it
 * went out until a write tells that it did. At the bound nothing is written any more, and what is kept goes out as the
 * client takes it. Of a connection that takes none of it within 12 s the client is cut off; so after `quietMs` in which
 * nothing went out, and nobody was cut off, nothing is kept.
 *
 * No chunk exceeds what uWebSockets.js gathers before it writes: of one that does, versions before April 2026 drop the bytes
 * when the connection has just become too full for the chunk's own head, and the client takes what follows for them.
 */
async function sendChunks(
  response: StreamWriter,
  pieces: AsyncIterable<Uint8Array>,
  { wait, onSent: sent }: Pick<StreamSendOptions, "onSent"> & { wait: Wait },
): Promise<void> {
  let kept = 0;
  // The head was gathered in this turn; what is gathered from here on is the chunk's alone.
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
 * Sends a body after its head, as fast as the client takes it, and in turns with others. A client that takes nothing for
 * about 10 s is cut off by uWebSockets.js.
 * @throws the reason of `gone`; WrongStreamLength; what the stream throws. The connection is to be closed then, if it is there.
 */
export async function sendStream(
  response: StreamWriter,
  body: BodyStream,
  sending: StreamSendOptions,
): Promise<void> {
  const { clientGone: gone, onSent: sent } = sending;
  const { open, wait } = createDrainWait(sending);
  response.onWritable(() => {
    // Sends on what is kept, which uWebSockets.js leaves to whoever listens here.
    if (body.bytes === null) response.cork(() => {});
    open();
    return true;
  });
  const pieces = whileClientPresent(body.open(gone), gone);
  if (body.bytes !== null) await sendWithLength(response, pieces, body.bytes, { wait, sent });
  // What has no end of its own is waited for piece by piece.
  else
    await sendChunks(response, body.endless === true ? pieces : inLargePieces(pieces), {
      wait,
      onSent: sent,
    });
}

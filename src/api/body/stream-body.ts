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

const { pieceBytes, corkBytes, keptBytes, quietMs, turnBytes } = LIMITS.http.streams;

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

/** Bytes that the connection may keep, as far as is known. */
function createBufferEstimate(clock: Clock) {
  let older = 0;
  let recent = 0;
  let sinceMs = clock.monotonic();
  let drainsBefore = 0;
  return {
    get bytes() {
      return older + recent;
    },
    clear() {
      older = 0;
      recent = 0;
    },
    /** @param drains how often something that was kept has gone out so far */
    add(bytes: number, drains: number) {
      const nowMs = clock.monotonic();
      if (nowMs - sinceMs >= quietMs) {
        older = drains === drainsBefore ? recent : older + recent;
        recent = 0;
        sinceMs = nowMs;
        drainsBefore = drains;
      }
      recent += bytes;
    },
  };
}

/**
 * Of an unknown length, in chunks. What the connection does not take is kept by uWebSockets.js, which says whether there
 * is any, only of pieces that do not fit its own buffer (`corkBytes`), and never how much. So what may be kept is counted
 * as if nothing went out until a write succeeds. At the bound nothing is written any more, and what is kept goes out as
 * the client takes it. Of a connection that takes none of it within 12 s the client is cut off; so after `quietMs` in
 * which nothing went out, and nobody was cut off, nothing is kept. Of small pieces, which tell nothing and take long to come
 * to the bound, those of before such a time are forgotten.
 */
async function sendChunks(
  response: StreamWriter,
  pieces: AsyncIterable<Uint8Array>,
  {
    wait,
    onSent: sent,
    clock,
    drains,
  }: Pick<StreamSendOptions, "onSent" | "clock"> & { wait: Wait; drains: () => number },
): Promise<void> {
  const kept = createBufferEstimate(clock);
  let isBehind = false;
  for await (const piece of pieces)
    for (let rest = piece; rest.length > 0; ) {
      const slice = rest.subarray(0, isBehind ? corkBytes : pieceBytes);
      let isTaken = true;
      response.cork(() => {
        isTaken = response.write(slice);
      });
      sent(slice.length);
      rest = rest.subarray(slice.length);
      const isTold = slice.length >= corkBytes;
      if (isTold && isTaken) kept.clear();
      else kept.add(slice.length, drains());
      if (isTold) isBehind = !isTaken;
      if (!isTaken && (await wait(quietMs))) kept.clear();
      while (kept.bytes > keptBytes) if (await wait(quietMs)) kept.clear();
    }
  response.cork(() => response.end());
}

/**
 * Sends a body after its head, as fast as the client takes it, and in turns with others. A client that takes nothing for
 * about 10 s is cut off by uWebSockets.js.
 * @throws the reason of `gone`; WrongLength; what the stream throws. The connection is to be closed then, if it is there.
 */
export async function sendStream(
  response: StreamWriter,
  body: BodyStream,
  sending: StreamSendOptions,
): Promise<void> {
  const { clientGone: gone, onSent: sent, clock } = sending;
  let drained = 0;
  const { open, wait } = createDrainWait(sending);
  response.onWritable(() => {
    drained++;
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
      clock,
      drains: () => drained,
    });
}

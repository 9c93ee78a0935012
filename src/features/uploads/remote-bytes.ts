import { once } from "node:events";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { RandomBytes } from "../bulk/workbook/random-bytes.ts";

/** A thread reads a file that the event loop fetches for it, by asking over a port. */

/** Reads a part of a file, at least one byte. */
export type ReadBytes = (firstByte: number, bytes: number) => Promise<Buffer>;

interface ReadRequest {
  firstByte: number;
  bytes: number;
}

/** null: the read failed. */
type ReadAnswer = Uint8Array | null;

/**
 * Answers the reads of a thread while `work` runs.
 * @param work passes the port to the thread
 * @throws the first error of `read`; else errors of `work`
 */
export async function serveReads<T>(read: ReadBytes, work: (port: MessagePort) => Promise<T>): Promise<T> {
  const { port1: here, port2: there } = new MessageChannel();
  let failure: { error: unknown } | null = null;
  here.on("message", ({ firstByte, bytes }: ReadRequest) => {
    read(firstByte, bytes).then(
      (found) => here.postMessage(found satisfies ReadAnswer),
      (error: unknown) => {
        failure ??= { error };
        here.postMessage(null satisfies ReadAnswer);
      },
    );
  });
  try {
    return await work(there);
  } catch (error) {
    throw (failure as { error: unknown } | null)?.error ?? error;
  } finally {
    here.close();
  }
}

/** The thread's side of `serveReads`. The caller closes the port. A read waits for those before it. */
export function readsOver(port: MessagePort): ReadBytes {
  let previous: Promise<unknown> = Promise.resolve();
  async function ask(request: ReadRequest): Promise<Buffer> {
    const answered = once(port, "message") as Promise<[ReadAnswer]>;
    port.postMessage(request);
    const [found] = await answered;
    // The other side has the error.
    if (found === null) throw new AppError("unavailable", "The file cannot be read now.");
    return Buffer.from(found.buffer, found.byteOffset, found.length);
  }
  return (firstByte, bytes) => {
    const found = previous.then(() => ask({ firstByte, bytes }));
    previous = found.catch(() => undefined);
    return found;
  };
}

/** The file, read in pieces of LIMITS.uploads.previewPieceBytes. */
export function bytesByReads(length: number, read: ReadBytes): RandomBytes {
  const { previewPieceBytes } = LIMITS.uploads;
  return {
    length,
    read,
    async *open(firstByte, bytes) {
      const end = Math.min(firstByte + bytes, length);
      for (let at = firstByte; at < end; at += previewPieceBytes)
        yield await read(at, Math.min(previewPieceBytes, end - at));
    },
  };
}

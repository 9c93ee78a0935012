import { networkError } from "../http/errors.ts";

interface PieceOptions {
  signal?: AbortSignal | undefined;
  /** A body that says nothing for so long leads nowhere. */
  silenceMs: number;
}

/** Fails when nothing has come for a while. */
async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): ReturnType<typeof reader.read> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${silenceMs} ms`)), silenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The pieces of a body, to its end. Stopping early closes the connection.
 * @throws RcptError `network_error` when it breaks off or is silent; the reason of `signal`
 */
export async function* piecesOf(
  { body }: Response,
  { signal, silenceMs }: PieceOptions,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMs);
      if (done) break;
      yield value;
    }
    isWhole = true;
  } catch (error) {
    signal?.throwIfAborted();
    throw networkError(error);
  } finally {
    if (!isWhole) reader.cancel().catch(() => undefined);
  }
}

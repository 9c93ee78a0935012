/** A stream whose first bytes were read to detect its type. */
export interface PeekedStream {
  /** At most as many bytes as requested. */
  start: Buffer;
  /** True when the start is the whole stream. */
  whole: boolean;
  /** All of it, the start included; to be called once. Leaving the loop ends the input. */
  all(): AsyncGenerator<Buffer, void, undefined>;
  /** Closes the input; the rest is not read. */
  close(): Promise<void>;
}

/** Reads the first `bytes` of a stream, or all of a shorter one, and holds on to them. */
export async function peekStart(input: AsyncIterator<Uint8Array>, bytes: number): Promise<PeekedStream> {
  const pieces: Buffer[] = [];
  let length = 0;
  let ended = false;
  while (length < bytes && !ended) {
    const { value, done } = await input.next();
    if (done === true) ended = true;
    else {
      pieces.push(asBuffer(value));
      length += value.length;
    }
  }
  const taken = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  const close = async (): Promise<void> => {
    await input.return?.();
  };
  async function* all(): AsyncGenerator<Buffer, void, undefined> {
    try {
      if (taken.length > 0) yield taken;
      while (!ended) {
        const { value, done } = await input.next();
        if (done === true) return;
        yield asBuffer(value);
      }
    } finally {
      await close();
    }
  }
  return { start: taken.subarray(0, bytes), whole: ended && length <= bytes, all, close };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

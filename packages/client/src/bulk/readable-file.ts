/** A file whose size is known and any part of which can be read, also again. */
export interface ReadableFile {
  name: string;
  bytes: number;
  /** Fewer bytes than asked for: the file has become shorter. */
  read(firstByte: number, bytes: number): Promise<Uint8Array | Blob>;
  close(): Promise<void>;
}

const PIECE_BYTES = 1_048_576;

/** Its bytes from the first to the last, read as they are taken. */
export function streamOf(file: ReadableFile): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const read = await file.read(at, Math.min(PIECE_BYTES, file.bytes - at));
      const bytes = read instanceof Blob ? new Uint8Array(await read.arrayBuffer()) : read;
      at += bytes.length;
      if (bytes.length > 0) controller.enqueue(bytes);
      if (at >= file.bytes || bytes.length === 0) controller.close();
    },
  });
}

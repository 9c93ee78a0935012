import { MissingObject, type ObjectRef, type ObjectStreams } from "../../../stores/objects/object-streams.ts";

/** Bytes of an object that does not change, to be read anywhere. */
export interface RandomBytes {
  /** Number of bytes. */
  readonly length: number;
  /** Reads a few bytes, in one piece. */
  read(firstByte: number, bytes: number): Promise<Buffer>;
  /** Streams bytes, with back-pressure. Leaving the loop closes the stream. */
  open(firstByte: number, bytes: number): AsyncIterable<Buffer>;
}

/**
 * The bytes of an object in object storage, in exactly the version that `ref` names.
 * @throws MissingObject; errors of the streams, also later
 */
export async function randomBytesOf(
  streams: Pick<ObjectStreams, "head" | "readRange" | "openRead">,
  ref: ObjectRef,
  cancelled: AbortSignal,
): Promise<RandomBytes> {
  const found = await streams.head(ref, { cancelled });
  if (found === null) throw new MissingObject("the object is not there");
  return {
    length: found.bytes,
    read: (firstByte, bytes) => streams.readRange(ref, { firstByte, bytes }, cancelled),
    open: (firstByte, bytes) => streams.openRead(ref, { firstByte, bytes }, cancelled),
  };
}

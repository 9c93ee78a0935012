import { S3Error } from "./error.ts";

const HEAD_MAX_BYTES = 1_024;
const TRAILERS_MAX = 16;
const CRLF = Buffer.from("\r\n");

const broken = () => new S3Error(400, "IncompleteBody", "The aws-chunked body is malformed or cut short.");

/** Reads a stream of buffers by line and by length; holds no more than one buffer and one line. */
class Cursor {
  private rest: Buffer = Buffer.alloc(0);
  private readonly source: AsyncIterator<Buffer>;

  constructor(source: AsyncIterator<Buffer>) {
    this.source = source;
  }

  private async more(): Promise<void> {
    const { done, value } = await this.source.next();
    if (done) throw broken();
    this.rest = this.rest.length === 0 ? value : Buffer.concat([this.rest, value]);
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.rest.indexOf(CRLF);
      if (end > HEAD_MAX_BYTES || (end === -1 && this.rest.length > HEAD_MAX_BYTES)) throw broken();
      if (end !== -1) {
        const line = this.rest.toString("latin1", 0, end);
        this.rest = this.rest.subarray(end + CRLF.length);
        return line;
      }
      await this.more();
    }
  }

  async *bytes(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.rest.length === 0) await this.more();
      const piece = this.rest.subarray(0, left);
      this.rest = this.rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
}

/**
 * Decodes the payload of an unsigned `aws-chunked` body: chunks of `HEX[;extension]\r\n data \r\n`, a chunk of length
 * 0, then trailers up to an empty line. Adds these to `trailers` by lower-case name.
 *
 * @throws S3Error 400 when the framing is wrong or the end is missing.
 */
export async function* decodeChunked(
  source: AsyncIterator<Buffer>,
  trailers: Map<string, string>,
): AsyncGenerator<Buffer> {
  const cursor = new Cursor(source);
  for (;;) {
    const size = /^([0-9a-f]{1,8})(;.*)?$/i.exec(await cursor.line())?.[1];
    if (size === undefined) throw broken();
    const length = Number.parseInt(size, 16);
    if (length === 0) break;
    yield* cursor.bytes(length);
    if ((await cursor.line()) !== "") throw broken();
  }
  for (let line = await cursor.line(); line !== ""; line = await cursor.line()) {
    const colon = line.indexOf(":");
    if (colon < 1 || trailers.size >= TRAILERS_MAX) throw broken();
    trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

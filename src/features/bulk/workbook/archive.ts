import { pipeline, Readable } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from "yauzl";
import { LIMITS } from "../../../config/limits/limits.ts";
import { CsvProblemError } from "../csv/problems.ts";
import type { RandomBytes } from "./random-bytes.ts";
import { workbookTooLarge, workbookUnreadable } from "./refusals.ts";

const { entries: ENTRIES_MAX, partBytes, freeBytes, ratio, windowBytes } = LIMITS.bulk.workbook;
/** APPNOTE.TXT 4.4.5. */
const STORED = 0;
const DEFLATED = 8;
const INFLATE_BYTES = 65_536;

/** Serves yauzl's many small reads of the central directory from a window of the last bytes read. */
class WindowedReader extends RandomAccessReader {
  readonly #source: RandomBytes;
  #window: Buffer = Buffer.alloc(0);
  #firstByte = 0;
  /** An error of the source, which is not the archive's fault. */
  failure: unknown = null;

  constructor(source: RandomBytes) {
    super();
    this.#source = source;
  }

  async #fill(position: number, length: number): Promise<Buffer> {
    const at = position - this.#firstByte;
    if (at >= 0 && at + length <= this.#window.length) return this.#window.subarray(at, at + length);
    const bytes = Math.min(Math.max(length, windowBytes), this.#source.length - position);
    this.#window = await this.#source.read(position, bytes);
    this.#firstByte = position;
    return this.#window.subarray(0, length);
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.#fill(position, length).then(
      (bytes) => {
        bytes.copy(buffer, offset);
        callback(bytes.length < length ? new Error("unexpected EOF") : null);
      },
      (error: unknown) => {
        this.failure = error;
        callback(error instanceof Error ? error : new Error("the source failed"));
      },
    );
  }
}

/** A ZIP archive whose parts are read one at a time, in bounded memory. */
export class Archive {
  readonly #source: RandomBytes;
  readonly #reader: WindowedReader;
  readonly #zip: ZipFile;
  /** By name, lower case: names of parts are compared so (ECMA-376 part 2, 6.2.2.3). */
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(source: RandomBytes, reader: WindowedReader, zip: ZipFile, found: Map<string, Entry>) {
    this.#source = source;
    this.#reader = reader;
    this.#zip = zip;
    this.#entries = found;
  }

  /** Reads the archive's directory. @throws CsvProblemError; errors of the source */
  static async open(source: RandomBytes): Promise<Archive> {
    const reader = new WindowedReader(source);
    return guarded(reader, async () => {
      const zip = await fromRandomAccessReaderPromise(reader, source.length, {
        lazyEntries: true,
        autoClose: false,
      });
      if (zip.entryCount > ENTRIES_MAX) throw workbookTooLarge(`it has more than ${ENTRIES_MAX} parts`);
      const found = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) found.set(entry.fileName.toLowerCase(), entry);
      return new Archive(source, reader, zip, found);
    });
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /**
   * The content of a part, inflated, as fast as it is taken; checked by its length and CRC at its end.
   * @throws CsvProblemError also from the iteration; errors of the source
   */
  async *part(name: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry === undefined) throw workbookUnreadable(`its part ${name} is missing`);
    if (entry.isEncrypted()) throw workbookUnreadable("it is encrypted. Save it without a password");
    const { compressedSize, uncompressedSize, compressionMethod } = entry;
    if (uncompressedSize > Math.min(partBytes, freeBytes + ratio * compressedSize))
      throw workbookTooLarge(`its part ${name} inflates to ${uncompressedSize} bytes`);
    const { fileDataStart } = await guarded(this.#reader, () => this.#zip.readLocalFileHeaderPromise(entry));
    const bytes = this.#source.open(fileDataStart, compressedSize);
    if (compressionMethod === STORED) yield* checked(bytes, entry);
    else if (compressionMethod === DEFLATED) yield* checked(inflated(bytes, name), entry);
    else throw workbookUnreadable(`its part ${name} is compressed by the method ${compressionMethod}`);
  }
}

/** Errors of yauzl are the archive's fault, unless the source failed. */
async function guarded<T>(reader: WindowedReader, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (reader.failure !== null) throw reader.failure;
    if (error instanceof CsvProblemError) throw error;
    throw workbookUnreadable("its ZIP directory is damaged");
  }
}

async function* checked(bytes: AsyncIterable<Buffer>, entry: Entry): AsyncGenerator<Buffer> {
  let length = 0;
  let crc = 0;
  const damaged = () => workbookUnreadable(`its part ${entry.fileName} is damaged`);
  for await (const piece of bytes) {
    length += piece.length;
    if (length > entry.uncompressedSize) throw damaged();
    crc = crc32(piece, crc);
    yield piece;
  }
  if (length !== entry.uncompressedSize || crc !== entry.crc32) throw damaged();
}

async function* inflated(bytes: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw({ chunkSize: INFLATE_BYTES });
  let failure: unknown = null;
  async function* read(): AsyncGenerator<Buffer> {
    try {
      yield* bytes;
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  pipeline(Readable.from(read(), { objectMode: false }), inflate, () => {});
  try {
    for await (const piece of inflate as AsyncIterable<Buffer>) yield piece;
  } catch (error) {
    if (failure !== null) throw failure;
    if (error instanceof Error && "code" in error && /^Z_/.test(String(error.code)))
      throw workbookUnreadable(`its part ${name} is damaged`);
    throw error;
  }
}

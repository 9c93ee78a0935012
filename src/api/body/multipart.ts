import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";

/** RFC 2046 §5.1.1: 1 to 70 characters, in quotes where it needs them. */
const BOUNDARY = /;[ \t]*boundary=(?:"[^"\r\n]{1,70}"|[^\s;"]{1,70})[ \t]*(?:;|$)/i;

function badForm(detail: string): AppError {
  return new AppError("bad_request", detail);
}

/** Parses a form and collects its file. It holds only the pieces that `take` has not taken yet. */
class FormReader {
  readonly #form: BusboyInstance;
  #pieces: Buffer[] = [];
  #files = 0;
  #failure: AppError | null = null;
  readonly #finished: Promise<void>;

  constructor(contentType: string) {
    const { parts, fieldBytes, headerPairs, headerBytes } = LIMITS.http.incoming.form;
    const form = new Busboy({
      headers: { "content-type": contentType },
      limits: { parts, fieldSize: fieldBytes, headerPairs, headerSize: headerBytes },
    });
    this.#form = form;
    const cutOff = () => this.#fail("The multipart body ends before its last boundary.");
    form.on("partsLimit", () => this.#fail(`A form may have ${parts} parts.`));
    form.on("file", (_name, file) => {
      this.#files += 1;
      if (this.#files > 1) this.#fail("The form holds several files. Send one.");
      // Always flowing: the next piece of the body is written after these have been taken.
      file.on("data", (data: Buffer) => this.#files === 1 && this.#pieces.push(data));
      file.on("error", cutOff);
    });
    this.#finished = new Promise((resolve) => {
      form.on("finish", resolve);
      form.on("error", () => {
        cutOff();
        resolve();
      });
    });
  }

  #fail(detail: string): void {
    this.#failure ??= badForm(detail);
  }

  /** Resolves when the piece has been parsed. @throws AppError `bad_request` */
  async write(piece: Uint8Array): Promise<void> {
    await Promise.race([
      new Promise<void>((resolve) => {
        this.#form.write(piece, () => resolve());
      }),
      this.#finished,
    ]);
    if (this.#failure !== null) throw this.#failure;
  }

  /** The pieces of the file since the last call. */
  take(): Buffer[] {
    const taken = this.#pieces;
    this.#pieces = [];
    return taken;
  }

  /** The body is over. @throws AppError `bad_request` unless it was a whole form with one file */
  async end(): Promise<void> {
    this.#form.end();
    await this.#finished;
    if (this.#failure !== null) throw this.#failure;
    if (this.#files === 0) throw badForm("The form holds no file: a part with a `filename` is one.");
  }
}

/**
 * The one file of a `multipart/form-data` body (RFC 7578), as it arrives. Other fields are read and dropped. If the form
 * turns out to be malformed, the iteration ends with an error, so that a part of a file is not taken for the whole. Memory:
 * a few pieces of the body, and one field.
 * @throws AppError `bad_request`, at once without a boundary; later when the form has no file or several, too many parts,
 *   or is cut off; errors of `pieces`
 */
export function fileOfForm(contentType: string, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  if (!BOUNDARY.test(contentType)) throw badForm("The multipart Content-Type names no boundary.");
  return readFile(new FormReader(contentType), pieces);
}

async function* readFile(reader: FormReader, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    await reader.write(piece);
    yield* reader.take();
  }
  await reader.end();
  yield* reader.take();
}

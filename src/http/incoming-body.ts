import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { BodySource } from "./body.ts";

/** uWebSockets.js' response, by what reading a body as it comes needs of it. */
export interface PausingSource extends BodySource {
  pause(): unknown;
  resume(): unknown;
}

/** A body that is handed on as it comes, and comes as fast as it is taken. */
export interface IncomingBody {
  /** `Content-Length`; null: chunked. */
  readonly declaredBytes: number | null;
  /**
   * The body in pieces, to be asked for once. A piece is nobody else's.
   * @param limitBytes `tooLong` is thrown at once when the body says that it is longer, else as soon as it gets longer
   * @throws AppError `bad_request` from the iteration when the client goes before the end
   */
  read(limitBytes: number, tooLong: () => AppError): AsyncIterable<Uint8Array>;
  /** Whether bytes of it may still come. */
  readonly isComing: boolean;
  /** What still comes is dropped; `ended` is called once when nothing does, unless it was abandoned. */
  drop(ended: () => void): void;
  /** The exchange is over: its response must not be touched any more. Who iterates hears of it. Idempotent. */
  abandon(): void;
}

const { heldBytes } = LIMITS.http.incoming;

/** Must be called before the request's handler returns. */
export function receiveBody(source: PausingSource, declaredBytes: number | null): IncomingBody {
  const queue: Buffer[] = [];
  let queued = 0;
  let state: "coming" | "complete" | "abandoned" = declaredBytes === 0 ? "complete" : "coming";
  let dropping: (() => void) | null = null;
  let paused = false;
  let wake: () => void = () => {};

  function flow(): void {
    const full = dropping === null && queued >= heldBytes;
    if (state !== "coming" || full === paused) return;
    paused = full;
    if (full) source.pause();
    else source.resume();
  }

  source.onData((chunk, isLast) => {
    if (dropping === null && chunk.byteLength > 0) {
      // Copied: its memory is the server's.
      queue.push(Buffer.from(new Uint8Array(chunk)));
      queued += chunk.byteLength;
    }
    if (isLast) state = "complete";
    flow();
    wake();
    if (isLast) dropping?.();
  });

  async function next(): Promise<Buffer | null> {
    while (queue.length === 0 && state === "coming")
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    // Nobody is to take for the whole what may be a part.
    if (state === "abandoned") throw new AppError("bad_request", "The request ended before its body.");
    const piece = queue.shift() ?? null;
    queued -= piece?.length ?? 0;
    flow();
    return piece;
  }

  async function* pieces(limitBytes: number, tooLong: () => AppError): AsyncGenerator<Buffer> {
    let bytes = 0;
    for (let piece = await next(); piece !== null; piece = await next()) {
      bytes += piece.length;
      if (bytes > limitBytes) throw tooLong();
      yield piece;
    }
  }

  return {
    declaredBytes,
    read(limitBytes, tooLong) {
      if (declaredBytes !== null && declaredBytes > limitBytes) throw tooLong();
      return pieces(limitBytes, tooLong);
    },
    get isComing() {
      return state === "coming";
    },
    drop(ended) {
      dropping = ended;
      queue.length = 0;
      queued = 0;
      flow();
    },
    abandon() {
      if (state === "coming") state = "abandoned";
      queue.length = 0;
      wake();
    },
  };
}

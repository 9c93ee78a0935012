import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { BodyAccount } from "./body-budget.ts";
import type { BodyPace, PacedBody } from "./body-pace.ts";
import type { DropPace, DroppedBody } from "./drop-pace.ts";

/** uWebSockets.js' response, by what reading a body as it comes needs of it. */
export interface PausableSource {
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** A body that is handed on as it comes, and comes as fast as it is taken. */
export interface IncomingBody {
  /** `Content-Length`; null: chunked. */
  readonly declaredBytes: number | null;
  /**
   * The body in pieces; may be called once. The caller owns each piece. Before the call hardly any of the body is read.
   * @param limitBytes `tooLong` is thrown at once when the declared length exceeds it, else as soon as the body gets longer
   * @throws AppError from the iteration: `bad_request` when the client disconnects before the end, `request_timeout` when
   *   the body arrives too slowly, `overloaded` when too much arrived before it was read
   */
  read(limitBytes: number, tooLong: () => AppError): AsyncIterable<Uint8Array>;
  /** True while further bytes may arrive. */
  readonly mayBringMore: boolean;
  /**
   * Reads and drops the rest, at the rate of `DropPace` unless it is short. `ended` is called once at the end of the body,
   * unless the body was abandoned.
   */
  discard(ended: () => void): void;
  /** The exchange is over: its response must not be touched any more. The iteration ends with an error. Idempotent. */
  abandon(): void;
}

const { heldBytes } = LIMITS.http.incoming;
const { droppedBytes } = LIMITS.http.bodies;

export function bodyBudgetExceeded(): AppError {
  return new AppError("overloaded", "Too many request bodies at once.", { retryAfterS: 1 });
}

function tooSlow(): AppError {
  return new AppError("request_timeout", "The request's body comes too slowly.", {
    headers: { Connection: "close" },
  });
}

function endedEarly(): AppError {
  return new AppError("bad_request", "The request ended before its body.");
}

/** Limits that all bodies of a process share. */
interface BodyRules {
  unread: BodyAccount;
  pace: BodyPace;
  drops: DropPace;
  /** Network of the client's address. */
  client: string;
}

class ReceivedBody implements IncomingBody, DroppedBody {
  readonly client: string;
  readonly declaredBytes: number | null;
  readonly #source: PausableSource;
  /** Charged for bytes that are queued before the body is read. */
  readonly #unread: BodyAccount;
  readonly #paced: PacedBody | null = null;
  readonly #queue: Buffer[] = [];
  #queued = 0;
  #isComing: boolean;
  #isReading = false;
  #isPaused = false;
  #isAbandoned = false;
  readonly #drops: DropPace;
  /** The rate of dropping is used up. */
  #waitsToDrop = false;
  #dropping: (() => void) | null = null;
  /** Why nothing more is handed on. */
  #failure: AppError | null = null;
  #wake: () => void = () => {};

  constructor(source: PausableSource, declaredBytes: number | null, by: BodyRules) {
    this.declaredBytes = declaredBytes;
    this.#source = source;
    this.#unread = by.unread;
    this.#drops = by.drops;
    this.client = by.client;
    this.#isComing = declaredBytes !== 0;
    source.onData((chunk, isLast) => this.#take(chunk, isLast));
    if (this.#isComing) this.#paced = by.pace.watch(() => this.#fail(tooSlow()));
  }

  get #isShort(): boolean {
    return this.declaredBytes !== null && this.declaredBytes <= droppedBytes;
  }

  get mayBringMore(): boolean {
    return this.#isComing;
  }

  read(limitBytes: number, tooLong: () => AppError): AsyncIterable<Uint8Array> {
    if (this.declaredBytes !== null && this.declaredBytes > limitBytes) throw tooLong();
    if (!this.#isReading) this.#unread.giveBack(this.#queued);
    this.#isReading = true;
    this.#flow();
    return this.#pieces(limitBytes, tooLong);
  }

  discard(ended: () => void): void {
    this.#dropping = ended;
    this.#paced?.ended();
    this.#clear();
    this.#waitsToDrop = this.#mustWait(0);
    this.#flow();
  }

  abandon(): void {
    this.#isAbandoned = true;
    this.#paced?.ended();
    this.#drops.forget(this);
    // A reader must not take for the whole what may be a part.
    if (this.#isComing || this.#queue.length > 0) this.#fail(endedEarly());
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    if (isLast) {
      this.#isComing = false;
      this.#paced?.ended();
      this.#drops.forget(this);
    }
    if (this.#dropping === null) this.#keep(chunk);
    else this.#waitsToDrop = this.#mustWait(chunk.byteLength);
    this.#flow();
    this.#wake();
    if (isLast && !this.#isAbandoned) this.#dropping?.();
  }

  #keep(chunk: ArrayBuffer): void {
    if (chunk.byteLength === 0 || this.#failure !== null) return;
    this.#paced?.received(chunk.byteLength);
    if (!this.#isReading && !this.#unread.take(chunk.byteLength)) {
      this.#fail(bodyBudgetExceeded());
      return;
    }
    // Copied: its memory is the server's.
    this.#queue.push(Buffer.from(new Uint8Array(chunk)));
    this.#queued += chunk.byteLength;
  }

  /** Pauses the connection while too many received bytes are not taken. */
  #flow(): void {
    if (this.#isAbandoned) return;
    const isFull = this.#failure !== null || this.#queued >= (this.#isReading ? heldBytes : 1);
    const pauses = this.#isComing && (this.#dropping === null ? isFull : this.#waitsToDrop);
    if (pauses === this.#isPaused) return;
    this.#isPaused = pauses;
    if (pauses) {
      this.#paced?.paused();
      this.#source.pause();
    } else {
      this.#paced?.resumed();
      this.#source.resume();
    }
  }

  resume(): void {
    this.#waitsToDrop = false;
    this.#flow();
  }

  /** True when the connection must be paused to keep the rate of dropping. */
  #mustWait(bytes: number): boolean {
    return this.#isComing && !this.#isShort && !this.#drops.dropped(this, bytes);
  }

  #clear(): void {
    if (!this.#isReading) this.#unread.giveBack(this.#queued);
    this.#queue.length = 0;
    this.#queued = 0;
  }

  #fail(error: AppError): void {
    this.#failure ??= error;
    this.#clear();
    this.#flow();
    this.#wake();
  }

  async #next(): Promise<Buffer | null> {
    while (this.#queue.length === 0 && this.#isComing && this.#failure === null)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#failure !== null) throw this.#failure;
    const piece = this.#queue.shift() ?? null;
    this.#queued -= piece?.length ?? 0;
    this.#flow();
    return piece;
  }

  async *#pieces(limitBytes: number, tooLong: () => AppError): AsyncGenerator<Buffer> {
    let bytes = 0;
    for (let piece = await this.#next(); piece !== null; piece = await this.#next()) {
      bytes += piece.length;
      if (bytes > limitBytes) throw tooLong();
      yield piece;
    }
  }
}

/** Must be called before the request's handler returns. @param declaredBytes 0: there is no body */
export function receiveBody(
  source: PausableSource,
  declaredBytes: number | null,
  rules: BodyRules,
): IncomingBody {
  return new ReceivedBody(source, declaredBytes, rules);
}

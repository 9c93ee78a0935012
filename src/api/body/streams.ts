import { LIMITS } from "../../config/limits/limits.ts";
import type { Actor } from "../../features/identity/actor.ts";
import { AppError } from "../../platform/errors.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { BodyStream } from "../reply/reply.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import { type BodyPace, createBodyPace } from "./body-pace.ts";
import { type StreamWriter, sendStream } from "./stream-body.ts";

/** The reason why we ended a body early, which is no fault of ours. */
export class StreamCutOff extends Error {
  override name = "Cut";
}

/** A streamed body in progress. */
export interface ActiveStream {
  response: StreamWriter & { close(): unknown };
  body: BodyStream;
  /** The `Authorization` header as sent; null: the request is not authenticated, so no credential is rechecked. */
  authorization: string | null;
  /** Called with the number of bytes that were sent. */
  onSent(bytes: number): void;
  /**
   * The response has ended: completely, or cut off by us. Called once, and not when the client disconnected.
   * @param error error of the stream; null: it was sent completely
   */
  onEnded(error: unknown): void;
  /** No work is done for the body any more. Called once, last. */
  onReleased(): void;
}

export interface Streams {
  /** Sends a body whose head was written. Returns the function to call when the client disconnects. */
  start(streaming: ActiveStream): () => void;
  /** Ends those without an end of their own; resolves when all have ended. */
  drain(): Promise<void>;
}

export interface StreamsDeps {
  authenticate(authorization: string): MaybePromise<Actor>;
  clock: Clock;
  /** Called with the number of streams, whenever it changes. */
  onCount(streams: number): void;
}

function end({ response, body, onEnded }: ActiveStream, error: unknown): void {
  const isOver = error instanceof StreamCutOff && body.endless === true;
  if (isOver) response.cork(() => response.end());
  onEnded(isOver ? null : error);
  if (!isOver && error !== null) response.close();
}

/**
 * The active streamed bodies. Each is cut off soon after its credential is revoked, and a finite one when its client takes it
 * too slowly: it holds a slot that others wait for. Cutting off a finite body closes its
 * connection, so that the client does not take a part for the whole. An endless one ends normally.
 */
class RunningStreams implements Streams {
  readonly #deps: StreamsDeps;
  /** Each with whether it is without an end of its own. */
  readonly #running = new Map<AbortController, boolean>();
  #draining = false;
  readonly #waiting: (() => void)[] = [];
  readonly #pace: BodyPace;

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
    this.#pace = createBodyPace(deps.clock, LIMITS.http.streams.pace);
  }

  start(streaming: ActiveStream): () => void {
    const control = new AbortController();
    let gone = false;
    const isEndless = streaming.body.endless === true;
    this.#running.set(control, isEndless);
    this.#deps.onCount(this.#running.size);
    void this.#run(streaming, control, () => gone);
    if (this.#draining && isEndless) control.abort(new StreamCutOff("the process shuts down"));
    return () => {
      gone = true;
      control.abort(new StreamCutOff("the client has gone"));
    };
  }

  drain(): Promise<void> {
    this.#draining = true;
    for (const [control, isEndless] of this.#running)
      if (isEndless) control.abort(new StreamCutOff("the process shuts down"));
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  async #run(streaming: ActiveStream, control: AbortController, hasGone: () => boolean): Promise<void> {
    const { clock } = this.#deps;
    const { response, body, authorization } = streaming;
    const unwatch = authorization === null ? null : this.#watch(authorization, control);
    const paced = this.#watchPace(streaming, control);
    let failure: unknown = null;
    try {
      await sendStream(response, body, { clientGone: control.signal, clock, ...paced });
    } catch (error) {
      failure = error;
    }
    unwatch?.();
    paced.ended();
    // Stops whatever still reads for the body.
    control.abort(new StreamCutOff("the body has ended"));
    if (!hasGone()) end(streaming, failure);
    streaming.onReleased();
    this.#running.delete(control);
    this.#deps.onCount(this.#running.size);
    if (this.#running.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Ends a finite stream when its client takes it too slowly. The time that its own pieces take does not count. */
  #watchPace({ body, onSent }: ActiveStream, control: AbortController) {
    if (body.endless === true) return { onSent, onWaiting: () => {}, ended: () => {} };
    const paced = this.#pace.watch(() =>
      control.abort(new StreamCutOff("the client takes the body too slowly")),
    );
    paced.paused();
    return {
      onSent(bytes: number) {
        onSent(bytes);
        paced.received(bytes);
      },
      onWaiting: (isWaiting: boolean) => (isWaiting ? paced.resumed() : paced.paused()),
      ended: () => paced.ended(),
    };
  }

  /** Ends the stream when its credential is no longer valid. Returns a function that stops the checks. */
  #watch(authorization: string, control: AbortController): () => void {
    let timer: Timer;
    const look = () => {
      timer = this.#deps.clock.after(LIMITS.http.streams.credentialEveryMs, async () => {
        if (await this.#isRevoked(authorization))
          control.abort(new StreamCutOff("the credential was revoked"));
        else if (!control.signal.aborted) look();
      });
    };
    look();
    return () => timer.cancel();
  }

  async #isRevoked(authorization: string): Promise<boolean> {
    try {
      await this.#deps.authenticate(authorization);
      return false;
    } catch (error) {
      return error instanceof AppError && error.code === "unauthorized";
    }
  }
}

export function createStreams(deps: StreamsDeps): Streams {
  return new RunningStreams(deps);
}

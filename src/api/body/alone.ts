import { setImmediate as turn } from "node:timers/promises";
import { AppError } from "../../platform/errors.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";

/*
 * A client does not read what comes behind an answer that closes its connection. So a request behind such an answer must
 * not be worked on, nor charged.
 *
 * uWebSockets.js reads a piece of a connection and hands over all requests in it, one after another. An answer that is
 * given at once closes the connection only at the end of the piece, so requests behind it are still handed over. Behind a
 * request that is still being worked on it closes at once, and that request cannot be answered any more, leaving or not.
 */

/** Rejects with `error` in the next tick: by then requests behind this one have closed its connection. */
export async function refuseAlone(error: unknown): Promise<never> {
  await turn();
  throw error;
}

/**
 * Does the work of a request whose answer will close its connection.
 * @param isOver true when the client has disconnected, or has sent another request after this one
 * @throws AppError when it is over before the work starts; the client does not read the error
 */
export async function workAlone<T>(work: () => MaybePromise<T>, isOver: () => boolean): Promise<T> {
  await turn();
  if (isOver()) throw new AppError("unavailable", "The connection was closed.");
  return work();
}

/** Recognises requests that were read behind the last answer of a connection. */
export interface LastAnswers {
  /**
   * The last answer of a connection was given at once: requests until that connection is closed came over the same
   * connection.
   */
  given(): void;
  /** A connection was closed. */
  closed(): void;
  /** True when the current request was read behind a last answer. */
  isGiven(): boolean;
}

/**
 * A request does not tell its connection. But the connection of a last answer is closed after the piece, before a request
 * of another connection is read. The exception is a client that takes no bytes: its connection is closed later. So that it
 * does not count for other connections, the next tick resets the state.
 */
export function createLastAnswers(): LastAnswers {
  let closing: NodeJS.Immediate | null = null;
  const forget = () => {
    if (closing !== null) clearImmediate(closing);
    closing = null;
  };
  return {
    given() {
      forget();
      closing = setImmediate(forget);
    },
    closed: forget,
    isGiven: () => closing !== null,
  };
}

/** The answer to a request behind a last answer: its client may wait for one. */
export function behindLastAnswer(): AppError {
  return new AppError("unavailable", "The answer before this one closes the connection.", {
    retryAfterS: 1,
    headers: { Connection: "close" },
  });
}

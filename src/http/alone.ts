import { setImmediate as turn } from "node:timers/promises";
import { AppError } from "../core/errors.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/*
 * Behind an answer that is there at once uWebSockets.js serves what it has read already, also when the answer closes the
 * connection; but it closes on what comes behind a request that is being worked on. Nobody reads what comes behind an
 * answer that closes: it must not be worked on, nor charged.
 */

/** Rejects with `error`, when what was read behind the request has closed its connection. */
export async function refuseAlone(error: unknown): Promise<never> {
  await turn();
  throw error;
}

/**
 * Does the work of a request whose answer will close its connection.
 * @param isOver whether its client has gone, or sent something behind it
 * @throws AppError that nobody reads, with nothing done, when it is over already
 */
export async function workAlone<T>(work: () => MaybePromise<T>, isOver: () => boolean): Promise<T> {
  await turn();
  if (isOver()) throw new AppError("unavailable", "The connection was closed.");
  return work();
}

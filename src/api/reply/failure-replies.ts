import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import { problemReply } from "./problem.ts";
import type { HttpReply } from "./reply.ts";

/** Turns errors of a request into replies and log lines. */
export interface FailureReplies {
  /** Logs errors that do not concern the caller. `id` is the request's, `route` its pattern. */
  replyTo(error: unknown, request: { id: string; route: string }): HttpReply;
  /**
   * Logs an error after the client disconnected, for example by pipelining a request. The client caused it, so no stack is
   * logged.
   */
  logAfterDisconnect(error: unknown, request: { id: string; route: string }): void;
}

export function createFailureReplies(deps: {
  log: Logger;
  /** True for errors of an unreachable store: a 503, not our fault. */
  isOutage(error: unknown): boolean;
}): FailureReplies {
  const { log } = deps;
  /** Many requests may wait for one thing that fails: its cause is logged for the first of them only. */
  const told = new WeakSet<AppError>();

  function logCause(error: AppError, event: Record<string, unknown>): void {
    if (error.status < 500 || error.cause === undefined || told.has(error)) return;
    told.add(error);
    log.warn(event, "a request failed for a cause");
  }

  return {
    replyTo(error, { id, route }) {
      const event = { err: error, request_id: id, route };
      if (error instanceof AppError) {
        // The client gets the problem document only. The cause behind it goes to the operator's log.
        logCause(error, event);
        return problemReply(error, id);
      }
      if (!deps.isOutage(error)) {
        log.error(event, "a handler failed");
        return problemReply(error, id);
      }
      log.warn(event, "a dependency does not answer");
      return problemReply(new AppError("unavailable", "A dependency does not answer. Try again."), id);
    },
    logAfterDisconnect(error, { id, route }) {
      if (error instanceof AppError) return;
      const event = { request_id: id, route, reason: String(error) };
      log.info(event, "work for a client that had gone was broken off");
    },
  };
}

import { AppError } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { problemReply } from "./problem.ts";
import type { Reply } from "./reply.ts";

/** What is thrown while a request is served, as its answer. */
export interface Failures {
  /** Logs what is not the caller's affair. `id` is the request's, `route` its pattern. */
  replyTo(error: unknown, request: { id: string; route: string }): Reply;
}

export function createFailures(deps: {
  log: Logger;
  /** Whether something thrown says that a store cannot be reached now: a 503, not a fault of ours. */
  isOutage(error: unknown): boolean;
}): Failures {
  const { log } = deps;
  return {
    replyTo(error, { id, route }) {
      const event = { err: error, request_id: id, route };
      if (error instanceof AppError) {
        // Who asked is told no more than that; what is behind it is for who runs this.
        if (error.status >= 500 && error.cause !== undefined) log.warn(event, "a request failed for a cause");
        return problemReply(error, id);
      }
      if (!deps.isOutage(error)) {
        log.error(event, "a handler failed");
        return problemReply(error, id);
      }
      log.warn(event, "a dependency does not answer");
      return problemReply(new AppError("unavailable", "A dependency does not answer. Try again."), id);
    },
  };
}

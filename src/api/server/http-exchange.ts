import type { HttpRequest } from "../request/request.ts";
import type { Match } from "../routing/router.ts";

/** One request on its way: what was matched and whether the client still waits. */
export interface HttpExchange<Response> {
  request: HttpRequest;
  match: Match | null;
  response: Response;
  /** Of the reply that is being sent. */
  released: (() => void) | null;
  /** Of a body that is being streamed: when its head was sent, from the start of the request; null: there is none. */
  headMs: number | null;
  /** Of the same: told when the client has gone. */
  abortStream: (() => void) | null;
  /** A large body is on its way, as far as the client takes it. */
  isSendingLargeBody: boolean;
  /** Answered or aborted: the native response must not be touched any more. */
  isOver: boolean;
}

export function beginExchange<Response>(request: HttpRequest, response: Response): HttpExchange<Response> {
  return {
    request,
    match: null,
    response,
    released: null,
    headMs: null,
    abortStream: null,
    isSendingLargeBody: false,
    isOver: false,
  };
}

/** The pattern of its route. */
export function routePatternOf({ match }: HttpExchange<unknown>): string {
  return match?.route.path ?? "unmatched";
}

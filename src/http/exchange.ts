import type { HttpRequest } from "./request.ts";
import type { Match } from "./router.ts";

/** One request on its way: what was matched and whether the client still waits. */
export interface Exchange<Response> {
  request: HttpRequest;
  match: Match | null;
  response: Response;
  /** Of the reply that is being sent. */
  released: (() => void) | null;
  /** Of a body that is being streamed: when its head was sent, from the start of the request; null: there is none. */
  headMs: number | null;
  /** Of the same: told when the client has gone. */
  cut: (() => void) | null;
  /** A large body is on its way, as far as the client takes it. */
  isTaken: boolean;
  /** Answered or aborted: the native response must not be touched any more. */
  over: boolean;
}

export function beginExchange<Response>(request: HttpRequest, response: Response): Exchange<Response> {
  return {
    request,
    match: null,
    response,
    released: null,
    headMs: null,
    cut: null,
    isTaken: false,
    over: false,
  };
}

/** The pattern of its route. */
export function routeOf({ match }: Exchange<unknown>): string {
  return match?.route.path ?? "unmatched";
}

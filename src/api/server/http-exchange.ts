import type { LingeringWriter } from "../body/linger.ts";
import type { ActiveStream } from "../body/streams.ts";
import type { HeldAnswer } from "../reply/held-answers.ts";
import type { LargeResponseWriter } from "../reply/respond.ts";
import type { HttpRequest } from "../request/request.ts";
import type { Match } from "../routing/router.ts";
import type { ConnectionSource } from "./intake.ts";

/** uWebSockets.js' response: the connection that a request is read from, and what its reply is written to. */
export type NativeResponse = ConnectionSource &
  LargeResponseWriter &
  LingeringWriter &
  ActiveStream["response"] & {
    /** `handler` is called when the client has gone: the response must not be touched from then on. */
    onAborted(handler: () => void): unknown;
  };

/** One request in progress: its route, and whether the client still waits. */
export interface HttpExchange {
  request: HttpRequest;
  match: Match | null;
  response: NativeResponse;
  /** Called when the body of the reply is not needed any more. */
  released: (() => void) | null;
  /** When the head of a streamed body was sent, from the start of the request; null: no body is streamed. */
  headMs: number | null;
  /** Ends a body that is being streamed, or an early answer, when the client has gone; null: there is neither. */
  abortStream: (() => void) | null;
  /** True while a large body is being sent, as fast as the client takes it. */
  isSendingLargeBody: boolean;
  /** The memory of that body; null: none of its own. */
  held: HeldAnswer | null;
  /** Answered or aborted: the native response must not be touched any more. */
  isOver: boolean;
}

export function beginExchange(request: HttpRequest, response: NativeResponse): HttpExchange {
  return {
    request,
    match: null,
    response,
    released: null,
    headMs: null,
    abortStream: null,
    isSendingLargeBody: false,
    held: null,
    isOver: false,
  };
}

/** The pattern of its route. */
export function routePatternOf({ match }: HttpExchange): string {
  return match?.route.path ?? "unmatched";
}

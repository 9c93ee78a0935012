/**
 * The work that a shutdown waits for: requests in progress, and large bodies that clients have not taken yet. Only requests
 * are bounded (`LIMITS.http.requestsInFlight`). Each large body costs a connection, and a client that takes nothing is cut
 * off.
 */
export interface InFlightRequests {
  /** Requests being worked on. */
  count(): number;
  started(): void;
  /** The answer was sent, or its body has begun. */
  ended(): void;
  bodyStarted(): void;
  bodyEnded(): void;
  /** Resolves once no work is in progress. */
  drain(): Promise<void>;
  /** True when no work is in progress and none may start: a request accepted now would be cut off, after it was charged. */
  isDrained(): boolean;
}

export function createInFlightRequests(): InFlightRequests {
  let requests = 0;
  let bodies = 0;
  let draining = false;
  let drained = false;
  let resolveIdle = () => {};
  const idle = new Promise<void>((resolve) => {
    resolveIdle = resolve;
  });
  function look(): void {
    if (!draining || requests > 0 || bodies > 0) return;
    drained = true;
    resolveIdle();
  }
  return {
    count: () => requests,
    started() {
      requests += 1;
    },
    ended() {
      requests -= 1;
      look();
    },
    bodyStarted() {
      bodies += 1;
    },
    bodyEnded() {
      bodies -= 1;
      look();
    },
    drain() {
      draining = true;
      look();
      return idle;
    },
    isDrained: () => drained,
  };
}

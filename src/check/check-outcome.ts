import type { Evidence } from "./evidence.ts";

/** Why an address of a batch has no answer, and the site it waits for: "" while that was not known. */
export interface Deferred {
  site: string;
  /** `busy`: the site's line is long, or no slot of it came free; `unfinished`: the batch was handed in before. */
  cause: "busy" | "unfinished";
}

/**
 * What an address is answered with: its evidence; why there is none yet; `null` when the task was cancelled;
 * `"overloaded"` when a bound of the thread left no room for it; `"broken"` when its check threw.
 */
export type CheckOutcome = SingleCheckOutcome | { deferred: Deferred };
export type SingleCheckOutcome = Evidence | null | "overloaded" | "broken";

export function isDeferred(line: CheckOutcome): line is { deferred: Deferred } {
  return line !== null && typeof line === "object" && "deferred" in line;
}

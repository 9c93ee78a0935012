import type { Evidence } from "../../../verification/evidence.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { WaitTimes } from "./answer-note.ts";

/** The evidence that was found, and whether it was cached. `failure`: the reason why there is none. */
export type EvidenceFinding =
  | { entry: CacheEntry; cached: true; failure?: undefined; times?: WaitTimes }
  | { entry: CacheEntry; cached: false; failure?: undefined; times?: WaitTimes }
  | {
      entry: null;
      cached: false;
      failure?: "deadline" | "internal_error";
      times?: WaitTimes;
      /** As of `InFlightOutcome`. */
      known?: Evidence | null;
    };

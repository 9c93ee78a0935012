import type { Evidence } from "../../../verification/evidence.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { WaitTimes } from "./answer-note.ts";

/** What was found, and where. `failure`: why there is no evidence. */
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

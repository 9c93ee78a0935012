import type { Evidence } from "../../check/evidence.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { FlightTimes } from "./answer-note.ts";

/** What was found, and where. `failure`: why there is no evidence. */
export type Finding =
  | { entry: CacheEntry; cached: true; failure?: undefined; times?: FlightTimes }
  | { entry: CacheEntry; cached: false; failure?: undefined; times?: FlightTimes }
  | {
      entry: null;
      cached: false;
      failure?: "deadline" | "internal_error";
      times?: FlightTimes;
      /** As of `Landing`. */
      known?: Evidence | null;
    };

import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { LIST_RELEASES } from "../../verification/lists/releases.ts";

/** Sets the metric with the release day of each list. */
export function recordListTimestamps({ listTimestamp }: Pick<Metrics, "listTimestamp">): void {
  for (const [list, { asOf }] of Object.entries(LIST_RELEASES))
    listTimestamp.set({ list }, Date.parse(asOf) / 1_000);
}

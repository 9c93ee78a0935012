import type { Destination } from "../smtp/pool/pool.ts";
import type { CatchAllFact } from "../verification/catch-all.ts";
import type { ReplyReadings } from "../verification/reply-readings.ts";
import type { AttemptTarget } from "./network-view.ts";

/**
 * Where fast probes of a domain go: the first address of its best exchanger, by the only egress route. It holds what these
 * probes share, and lives as long as the domain's plan.
 */
export interface FastRoute {
  destination: Destination;
  /** Key of the catch-all fact of the destination. */
  catchAllKey: string;
  /** The catch-all fact, once an accepted address has needed it. */
  catchAll: CatchAllFact | undefined;
  /** What attempts are reported for. */
  target: AttemptTarget;
  readings: ReplyReadings;
}

import type { Destination } from "../smtp/pool/pool.ts";
import type { CatchAllFact } from "../verification/catch-all.ts";
import type { ReplyReadings } from "../verification/reply-readings.ts";
import type { AttemptTarget } from "./network-view.ts";

/**
 * The destination of fast probes of a domain: the first address of its best exchanger, over the only egress route. It holds
 * data that these probes share, and lives as long as the domain's plan.
 */
export interface FastRoute {
  destination: Destination;
  /** Key of the catch-all fact of the destination. */
  catchAllKey: string;
  /** The catch-all fact, once an accepted address has needed it. */
  catchAll: CatchAllFact | undefined;
  /** Target that attempts are reported for. */
  target: AttemptTarget;
  readings: ReplyReadings;
}

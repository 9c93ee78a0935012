import type { Destination } from "../smtp/pool/pool.ts";
import type { CatchAllFact } from "../verification/catch-all.ts";
import type { ReplyReadings } from "../verification/reply-readings.ts";
import type { AttemptTarget } from "./network-view.ts";

/**
 * Where a domain's probes go as long as nothing is unusual: the first address of its best exchanger, by its only way. With
 * what its probes have in common; it lives as long as the domain's plan.
 */
export interface UsualWay {
  destination: Destination;
  /** Of what is known of strangers there. */
  catchAllKey: string;
  /** What is known of strangers, from when the first one who was accepted had to know. */
  strangers: CatchAllFact | undefined;
  /** Who is told of as reached. */
  target: AttemptTarget;
  heard: ReplyReadings;
}

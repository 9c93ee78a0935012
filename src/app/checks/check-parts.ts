import type { LifecyclePart } from "../../platform/lifecycle.ts";
import type { Checks } from "./checks.ts";

/** What the roles that verify start and stop of their checks, in order: a check needs all that comes before its pool of threads. */
export function checkParts(checks: Checks): LifecyclePart[] {
  return [
    { name: "connection slots", start: () => checks.slots.start(), stop: () => checks.slots.close() },
    { name: "breakers", start: () => checks.breakers.start(), stop: () => checks.breakers.close() },
    {
      name: "beliefs",
      start: () => checks.learnedBehaviour.start(),
      stop: () => checks.learnedBehaviour.stop(),
    },
    { name: "network watch", stop: () => checks.network.stop() },
    { name: "our own house", start: () => checks.selfCheck.start(), stop: () => checks.selfCheck.stop() },
    { name: "checks", start: () => checks.pool.ready(), stop: () => checks.pool.close() },
  ];
}

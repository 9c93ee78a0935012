import type { LifecyclePart } from "../../platform/lifecycle.ts";
import type { Checks } from "./checks.ts";

/** The parts of checks that a verifying role starts and stops, in order: the pool of check threads needs all before it. */
export function checkParts(checks: Checks): LifecyclePart[] {
  return [
    { name: "connection slots", start: () => checks.slots.start(), stop: () => checks.slots.close() },
    { name: "breakers", start: () => checks.breakers.start(), stop: () => checks.breakers.close() },
    {
      name: "learned behaviour",
      start: () => checks.learnedBehaviour.start(),
      stop: () => checks.learnedBehaviour.stop(),
    },
    { name: "network watch", stop: () => checks.network.stop() },
    { name: "self-check", start: () => checks.selfCheck.start(), stop: () => checks.selfCheck.stop() },
    { name: "checks", start: () => checks.pool.ready(), stop: () => checks.pool.close() },
  ];
}

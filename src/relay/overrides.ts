import { LIMITS } from "../core/limits.ts";
import type { MergeOverrides } from "../services/overrides/merge.ts";
import type { PeriodicTask } from "./relay.ts";

/** Merges the teams' disposable overrides. */
export function overridePeriodicTasks(merge: MergeOverrides): PeriodicTask[] {
  return [{ name: "merge overrides", everyMs: LIMITS.overrides.mergeEveryMs, run: merge }];
}

import { LIMITS } from "../../config/limits/limits.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";
import type { MergeOverrides } from "./merge.ts";

/** Merges the teams' disposable overrides. */
export function overridePeriodicTasks(merge: MergeOverrides): PeriodicTask[] {
  return [{ name: "merge overrides", everyMs: LIMITS.overrides.mergeEveryMs, run: merge }];
}

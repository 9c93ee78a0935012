import { LIMITS } from "../core/limits.ts";
import type { MergeOverrides } from "../services/overrides/merge.ts";
import type { Chore } from "./relay.ts";

/** What teams have submitted as disposable is merged into what every process reads. */
export function overrideChores(merge: MergeOverrides): Chore[] {
  return [{ name: "merge overrides", everyMs: LIMITS.overrides.mergeEveryMs, run: merge }];
}

import { LIMITS } from "../../config/limits/limits.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";
import type { UploadRemoval } from "./removal.ts";

/** Removes unfinished, deleted and expired uploads. */
export function uploadPeriodicTasks(removal: UploadRemoval): PeriodicTask[] {
  return [
    {
      name: "remove uploads",
      everyMs: LIMITS.uploads.removeEveryMs,
      run: (isStopping) => removal.sweep(isStopping),
    },
  ];
}

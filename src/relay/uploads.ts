import { LIMITS } from "../core/limits.ts";
import type { UploadRemoval } from "../services/uploads/removal.ts";
import type { PeriodicTask } from "./relay.ts";

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

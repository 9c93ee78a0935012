import { LIMITS } from "../core/limits.ts";
import type { UploadRemoval } from "../services/uploads/removal.ts";
import type { Chore } from "./relay.ts";

/** Uploads that nobody finished, wants or may keep any more are removed. */
export function uploadChores(removal: UploadRemoval): Chore[] {
  return [
    {
      name: "remove uploads",
      everyMs: LIMITS.uploads.removeEveryMs,
      run: (isStopping) => removal.sweep(isStopping),
    },
  ];
}

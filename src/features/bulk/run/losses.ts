import type { JobErrorCode } from "../../../platform/job-errors.ts";
import { ChangedObject, ForbiddenObject, MissingObject } from "../../../stores/objects/object-streams.ts";
import { SourceLost } from "../submit/source-rows.ts";
import { SourceUnavailable } from "./foreign-sources.ts";

/** Why a job that has been analysed cannot go on. */
export interface Loss {
  code: JobErrorCode;
  detail: string;
  /** True when the loss may be temporary: the task looks a few more times. */
  mayPass: boolean;
  /**
   * The list's owner removed it: the answered rows are charged. Results can be read while a job runs, so a team that
   * removes the list just before the end would get them all for nothing.
   */
  charges: boolean;
}

const LOST = {
  source_missing: "The list was removed while the job was under way.",
  source_changed: "The list was replaced while the job was under way.",
  s3_not_granted: "The list's bucket may not be read any more.",
} as const satisfies Partial<Record<JobErrorCode, string>>;

/** The list is the customer's to keep, and is not there to be read. */
function sourceLoss(code: keyof typeof LOST | "source_unavailable", reason: string, mayPass = false): Loss {
  const detail = `${reason} The rows that were answered are charged, the others cost nothing.`;
  return { code, detail, mayPass, charges: true };
}

/** null: the error is not a loss. */
export function lossOf(error: unknown): Loss | null {
  if (error instanceof SourceLost)
    return sourceLoss(error.code, LOST[error.code], error.code === "source_missing");
  if (error instanceof SourceUnavailable)
    return sourceLoss("source_unavailable", `The list cannot be read any more. ${error.message}`);
  if (error instanceof ForbiddenObject) return sourceLoss("s3_not_granted", LOST.s3_not_granted);
  if (error instanceof MissingObject || error instanceof ChangedObject)
    return {
      code: "objects_missing",
      detail: "Objects of the job were removed from object storage. It costs nothing.",
      mayPass: true,
      charges: false,
    };
  return null;
}

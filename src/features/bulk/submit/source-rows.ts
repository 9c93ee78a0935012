import {
  ChangedObject,
  ForbiddenObject,
  MissingObject,
  type ObjectStreams,
} from "../../../stores/objects/object-streams.ts";
import type { ObjectPlace } from "../jobs/job-sql.ts";
import { jobPrefix } from "../results/job-objects.ts";
import type { GrantCheck } from "./grant-check.ts";

/** The source cannot be read any more: it was removed or changed since its analysis, or we lost the permission to read it. */
export class SourceLost extends Error {
  override name = "SourceLost";
  readonly code: "source_missing" | "source_changed" | "s3_not_granted";
  constructor(code: SourceLost["code"], cause?: unknown) {
    super("the source of a job is not what was analysed, or not to be read", { cause });
    this.code = code;
  }
}

/** Whose rows they are, and where these lie. */
export interface SourceRowsRef {
  teamId: string;
  jobId: string;
  place: ObjectPlace;
}

export interface SourceRowsDeps {
  streams: Pick<ObjectStreams, "readRange">;
  /** Checks whether the team may still read the object of its list. */
  granted: GrantCheck;
}

/**
 * Bytes of a job's rows, of the very object that was analysed.
 * @throws SourceLost; MissingObject, ChangedObject when it is an object of ours; ForbiddenObject
 */
export async function readSourceRows(
  { streams, granted }: SourceRowsDeps,
  { teamId, jobId, place }: SourceRowsRef,
  range: { firstByte: number; bytes: number },
  signal?: AbortSignal,
): Promise<Buffer> {
  const { bucket, key, etag } = place;
  if (bucket !== null && !(await granted(teamId, { bucket, key }))) throw new SourceLost("s3_not_granted");
  try {
    return await streams.readRange({ bucket, key, ...(etag === null ? {} : { etag }) }, range, signal);
  } catch (error) {
    if (error instanceof ForbiddenObject) throw new SourceLost("s3_not_granted", error);
    const isOurs = bucket === null && key.startsWith(jobPrefix(teamId, jobId));
    if (error instanceof ChangedObject && !isOurs) throw new SourceLost("source_changed", error);
    if (error instanceof MissingObject && !isOurs) throw new SourceLost("source_missing", error);
    throw error;
  }
}

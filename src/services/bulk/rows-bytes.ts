import { jobPrefix } from "../../store/job-objects.ts";
import type { ObjectPlace } from "../../store/jobs.ts";
import { ChangedObject, MissingObject, type ObjectStreams } from "../../store/object-streams.ts";

/** A source that is not ours to keep: it has been removed or changed since it was analysed. */
export class SourceLost extends Error {
  override name = "SourceLost";
  readonly code: "source_missing" | "source_changed";
  constructor(code: SourceLost["code"], cause: unknown) {
    super("the source of a job is not what was analysed", { cause });
    this.code = code;
  }
}

/** Whose rows they are, and where these lie. */
export interface RowsPlace {
  teamId: string;
  jobId: string;
  place: ObjectPlace;
}

/**
 * Bytes of a job's rows, of the very object that was analysed.
 * @throws SourceLost; MissingObject, ChangedObject when it is an object of ours; ForbiddenObject
 */
export async function readRowsBytes(
  streams: Pick<ObjectStreams, "readRange">,
  { teamId, jobId, place }: RowsPlace,
  range: { firstByte: number; bytes: number },
  signal?: AbortSignal,
): Promise<Buffer> {
  const { bucket, key, etag } = place;
  try {
    return await streams.readRange({ bucket, key, ...(etag === null ? {} : { etag }) }, range, signal);
  } catch (error) {
    const isOurs = bucket === null && key.startsWith(jobPrefix(teamId, jobId));
    if (error instanceof ChangedObject && !isOurs) throw new SourceLost("source_changed", error);
    if (error instanceof MissingObject && !isOurs) throw new SourceLost("source_missing", error);
    throw error;
  }
}

import { LIMITS } from "../../../config/limits/limits.ts";
import { SemaphoreFull } from "../../../platform/semaphore.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { httpStatus, isObjectsOutage, ObjectsOutage } from "../../../stores/objects/object-errors.ts";
import type { ObjectRef, ObjectStreams } from "../../../stores/objects/object-streams.ts";

/** A list in another owner's bucket cannot be read, and waiting does not help. */
export class SourceUnavailable extends Error {
  override name = "SourceUnavailable";
}

type Reads = Pick<ObjectStreams, "openRead" | "readRange">;

/** Since when reads of an object fail, without one between that did not. */
interface FailingObject {
  sinceMs: number;
  lastMs: number;
}

/** Both forms in which S3 says that the bucket is in another region, where a request signed for this one is refused. */
function isOtherRegion(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    httpStatus(error) === 301 || error.name === "AuthorizationHeaderMalformed" || isOtherRegion(error.cause)
  );
}

/** Whether the bucket fails, as far as the error shows: not our credentials, nor too much load here. */
function isBucketFault(error: unknown): boolean {
  const cause = error instanceof ObjectsOutage ? (error.cause ?? error) : error;
  if (cause instanceof SemaphoreFull || !isObjectsOutage(cause)) return false;
  const status = httpStatus(cause);
  return status === undefined || status === 429 || status >= 500;
}

/**
 * Bounds the wait for buckets that are not the deployment's own, so that such a bucket cannot keep a job running for ever.
 * A bucket is given up when it fails for LIMITS.bulk.sourceAwayMs without a complete read between, as this process sees it,
 * or is in another region. For the own bucket tasks wait without limit.
 * @returns reads that throw SourceUnavailable too
 */
export function watchForeignSources(streams: Reads, clock: Pick<Clock, "monotonic">): Reads {
  const { sourceAwayMs, sourceForgottenMs, sourcesWatched } = LIMITS.bulk;
  const failing = new Map<string, FailingObject>();

  const keyOf = ({ bucket, key }: ObjectRef) => `${bucket}/${key}`;

  /** Since when the object fails; null: too many do. */
  function noteFailure(ref: ObjectRef): number | null {
    const nowMs = clock.monotonic();
    // An object that failed so long ago was not read here since: other processes may have read it.
    for (const [key, { lastMs }] of failing) if (nowMs - lastMs > sourceForgottenMs) failing.delete(key);
    const known = failing.get(keyOf(ref));
    if (known === undefined && failing.size >= sourcesWatched) return null;
    const sinceMs = known?.sinceMs ?? nowMs;
    failing.set(keyOf(ref), { sinceMs, lastMs: nowMs });
    return sinceMs;
  }

  function translate(ref: ObjectRef, error: unknown): unknown {
    if (isOtherRegion(error))
      return new SourceUnavailable("Its bucket is in another region than this deployment's object storage.", {
        cause: error,
      });
    if (!isBucketFault(error)) return error;
    const sinceMs = noteFailure(ref);
    if (sinceMs === null || clock.monotonic() - sinceMs < sourceAwayMs) return error;
    failing.delete(keyOf(ref));
    const hours = sourceAwayMs / 3_600_000;
    return new SourceUnavailable(`Its bucket has failed for ${hours} hours.`, { cause: error });
  }

  async function* read(...asked: Parameters<Reads["openRead"]>): AsyncGenerator<Buffer> {
    const [ref] = asked;
    try {
      yield* streams.openRead(...asked);
    } catch (error) {
      throw translate(ref, error);
    }
    failing.delete(keyOf(ref));
  }

  return {
    openRead: (...asked) => (asked[0].bucket === null ? streams.openRead(...asked) : read(...asked)),
    async readRange(...asked) {
      const [ref] = asked;
      if (ref.bucket === null) return streams.readRange(...asked);
      try {
        const bytes = await streams.readRange(...asked);
        failing.delete(keyOf(ref));
        return bytes;
      } catch (error) {
        throw translate(ref, error);
      }
    },
  };
}

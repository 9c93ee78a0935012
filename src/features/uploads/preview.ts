import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { TaskOwner } from "../../platform/request-thread.ts";
import { createSemaphore } from "../../platform/semaphore.ts";
import { createTeamSlots } from "../../platform/team-slots.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { MissingObject, type ObjectStreams } from "../../stores/objects/object-streams.ts";
import type { SourceOptions } from "../bulk/analysis/layout.ts";
import type { UploadSource, UploadSources } from "../bulk/submit/submit-file.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import type { PreviewInput, UploadPreview } from "./read-preview.ts";
import type { ReadBytes } from "./remote-bytes.ts";

/**
 * Shows how an upload would be read. Costs nothing and changes nothing.
 * @throws AppError `not_found`, `upload_missing`, `bulk_too_large`, `overloaded`, `unavailable` after LIMITS.uploads.previewMs,
 *   and every error that would fail the job at its start, or anywhere in a file that was read whole
 */
export type PreviewUpload = (
  actor: Actor,
  uploadId: string,
  options: SourceOptions,
  cancelled: AbortSignal,
) => Promise<UploadPreview>;

/** `readPreview`, off the event loop. @throws AppError `overloaded` */
export type ReadPreview = (
  input: PreviewInput,
  readBytes: ReadBytes,
  owner: TaskOwner,
) => Promise<UploadPreview>;

export interface PreviewDeps {
  read: ReadPreview;
  sources: Pick<UploadSources, "find">;
  streams: Pick<ObjectStreams, "readRange">;
  clock: Clock;
}

/** Reads of one file for a preview, within LIMITS.uploads.previewFileBytes. */
function readsOf(
  { key, etag }: UploadSource,
  streams: PreviewDeps["streams"],
  ended: AbortSignal,
): ReadBytes {
  let bytesLeft: number = LIMITS.uploads.previewFileBytes;
  return async (firstByte, bytes) => {
    bytesLeft -= bytes;
    if (bytesLeft < 0) throw previewTooLarge();
    return streams.readRange({ bucket: null, key, etag }, { firstByte, bytes }, ended);
  };
}

function previewTooLarge(): AppError {
  const { previewFileBytes } = LIMITS.uploads;
  return new AppError(
    "not_readable",
    `The first rows are not among the ${previewFileBytes} bytes that a preview reads of a file.`,
  );
}

const tooLate = () =>
  new AppError("unavailable", "The upload cannot be previewed now. Retry after 1 s.", { retryAfterS: 1 });

/** The outcome of `work`, or the signal's reason as soon as it is aborted: what becomes of `work` is ignored then. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

export function createPreviewUpload(deps: PreviewDeps): PreviewUpload {
  const { previews, previewsPerTeam, previewsKept, previewMs } = LIMITS.uploads;
  const slots = createTeamSlots(
    { all: previews, perShare: previewsPerTeam, kept: previewsKept },
    () =>
      new AppError("overloaded", "Too many previews are in progress. Retry after 1 s.", { retryAfterS: 1 }),
  );
  // Not the thread's queue: a client that leaves, or has waited too long, leaves this one at once.
  const turns = createSemaphore({ atOnce: 1, waiting: previews, waitMs: previewMs }, "previews", deps.clock);

  async function read(actor: Actor, uploadId: string, options: SourceOptions, ended: AbortSignal) {
    const share = shareKey(actor);
    const source = await deps.sources.find(actor, uploadId);
    const endTurn = await turns.acquire(ended, share);
    try {
      const reads = readsOf(source, deps.streams, ended);
      const input = { fileBytes: source.bytes, options, bulkBytes: actor.limits.bulkBytes };
      return await deps.read(input, reads, { share, isCancelled: () => ended.aborted });
    } finally {
      endTurn();
    }
  }

  return async (actor, uploadId, options, cancelled) => {
    const endSlot = slots.take(shareKey(actor));
    const ending = new AbortController();
    const late = deps.clock.after(previewMs, () => ending.abort(tooLate()));
    const cancel = () => ending.abort(cancelled.reason);
    cancelled.addEventListener("abort", cancel, { once: true });
    try {
      return await untilAborted(ending.signal, read(actor, uploadId, options, ending.signal));
    } catch (error) {
      if (error instanceof MissingObject)
        throw new AppError("upload_missing", "The bytes of the upload no longer exist.", {
          cause: error,
        });
      throw error;
    } finally {
      late.cancel();
      cancelled.removeEventListener("abort", cancel);
      endSlot();
    }
  };
}

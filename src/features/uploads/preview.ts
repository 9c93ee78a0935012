import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { TaskOwner } from "../../platform/request-thread.ts";
import { createTeamSlots } from "../../platform/team-slots.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import { MissingObject, type ObjectStreams } from "../../stores/objects/object-streams.ts";
import type { SourceOptions } from "../bulk/analysis/layout.ts";
import type { UploadSource, UploadSources } from "../bulk/submit/submit-file.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import type { PreviewInput, UploadPreview } from "./read-preview.ts";
import type { ReadBytes } from "./remote-bytes.ts";

/**
 * Shows how an upload would be read. Costs nothing and changes nothing.
 * @throws AppError `not_found`, `upload_missing`, `bulk_too_large`, `overloaded`, `unavailable` when object storage is too slow,
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
  clock: Pick<Clock, "after">;
}

/** Reads of one file for a preview, within LIMITS.uploads.previewReadMs and `previewFileBytes`. */
class FileReads {
  readonly #deps: Pick<PreviewDeps, "streams" | "clock">;
  readonly #source: UploadSource;
  readonly #ending = new AbortController();
  #bytesLeft: number = LIMITS.uploads.previewFileBytes;
  #late: Timer | null = null;

  constructor(deps: Pick<PreviewDeps, "streams" | "clock">, source: UploadSource) {
    this.#deps = deps;
    this.#source = source;
  }

  /** The time begins with the first: the reader may have waited for its turn. */
  read: ReadBytes = async (firstByte, bytes) => {
    this.#late ??= this.#deps.clock.after(LIMITS.uploads.previewReadMs, () =>
      this.end(new AppError("unavailable", "The upload cannot be read now.", { retryAfterS: 1 })),
    );
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) throw previewTooLarge();
    const { key, etag } = this.#source;
    return this.#deps.streams.readRange(
      { bucket: null, key, etag },
      { firstByte, bytes },
      this.#ending.signal,
    );
  };

  /** Ends what is under way, and all further reads. */
  end(reason: unknown): void {
    this.#late?.cancel();
    this.#ending.abort(reason);
  }
}

function previewTooLarge(): AppError {
  const { previewFileBytes } = LIMITS.uploads;
  return new AppError(
    "not_readable",
    `The first rows are not among the ${previewFileBytes} bytes that a preview reads of a file.`,
  );
}

export function createPreviewUpload(deps: PreviewDeps): PreviewUpload {
  const { previews, previewsPerTeam, previewsKept } = LIMITS.uploads;
  const slots = createTeamSlots(
    { all: previews, perShare: previewsPerTeam, kept: previewsKept },
    () =>
      new AppError("overloaded", "Too many previews are in progress. Retry after 1 s.", { retryAfterS: 1 }),
  );

  async function read(actor: Actor, uploadId: string, options: SourceOptions, cancelled: AbortSignal) {
    const source = await deps.sources.find(actor, uploadId);
    const reads = new FileReads(deps, source);
    const cancel = () => reads.end(cancelled.reason);
    cancelled.addEventListener("abort", cancel, { once: true });
    const owner = { share: shareKey(actor), isCancelled: () => cancelled.aborted };
    const { bulkBytes } = actor.limits;
    try {
      return await deps.read({ fileBytes: source.bytes, options, bulkBytes }, reads.read, owner);
    } finally {
      cancelled.removeEventListener("abort", cancel);
      reads.end(null);
    }
  }

  return async (actor, uploadId, options, cancelled) => {
    const end = slots.take(shareKey(actor));
    try {
      return await read(actor, uploadId, options, cancelled);
    } catch (error) {
      if (error instanceof MissingObject)
        throw new AppError("upload_missing", "The bytes of the upload no longer exist.", {
          cause: error,
        });
      throw error;
    } finally {
      end();
    }
  };
}

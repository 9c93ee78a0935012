import { AppError } from "../../core/errors.ts";
import type { ObjectStreams } from "../../store/object-streams.ts";
import type { Database } from "../../store/postgres.ts";
import { shareLockUpload } from "../../store/uploads.ts";
import type { UploadSources } from "../bulk/submit-file.ts";
import { refreshFromStorage, requireUpload } from "./upload.ts";

/** Uploads as the sources of jobs: exactly the version that object storage has now. */
export function createUploadSources(deps: {
  sql: Database;
  streams: Pick<ObjectStreams, "head">;
}): UploadSources {
  const { sql, streams } = deps;
  return {
    async find(actor, uploadId) {
      const stored = await refreshFromStorage(sql, streams, await requireUpload(sql, actor, uploadId), actor);
      if (stored === null) throw new AppError("upload_missing", "The upload is incomplete.");
      const { filename, key, etag, bytes } = stored;
      return { filename, key, etag, bytes };
    },
    keep: shareLockUpload,
  };
}

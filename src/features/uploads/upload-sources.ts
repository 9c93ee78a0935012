import { AppError } from "../../platform/errors.ts";
import type { ObjectStreams } from "../../stores/objects/object-streams.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { UploadSources } from "../bulk/submit/submit-file.ts";
import { refreshFromStorage, requireUpload } from "./upload.ts";
import { shareLockUpload } from "./upload-sql.ts";

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

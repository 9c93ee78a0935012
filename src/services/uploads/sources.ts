import { AppError } from "../../core/errors.ts";
import type { ObjectStreams } from "../../store/object-streams.ts";
import type { Database } from "../../store/postgres.ts";
import { keepUpload } from "../../store/uploads.ts";
import type { UploadSources } from "../bulk/submit-file.ts";
import { look, mustFind } from "./upload.ts";

/** Uploads as the sources of jobs: the very state that object storage has now. */
export function createUploadSources(deps: {
  sql: Database;
  streams: Pick<ObjectStreams, "head">;
}): UploadSources {
  const { sql, streams } = deps;
  return {
    async find(actor, uploadId) {
      const stored = await look(sql, streams, await mustFind(sql, actor, uploadId), actor);
      if (stored === null)
        throw new AppError("upload_missing", "The bytes of the upload are not there, or not all of them.");
      const { filename, key, etag, bytes } = stored;
      return { filename, key, etag, bytes };
    },
    keep: keepUpload,
  };
}

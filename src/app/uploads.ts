import type { Config } from "../config/config.ts";
import { createPreviewUpload } from "../features/uploads/preview.ts";
import { createReceiveUpload } from "../features/uploads/receive.ts";
import { createUploadRemoval } from "../features/uploads/removal.ts";
import { createUploadObjects } from "../features/uploads/upload-objects.ts";
import { createUploadSources } from "../features/uploads/upload-sources.ts";
import { uploadPeriodicTasks } from "../features/uploads/upload-tasks.ts";
import { createUploads, type Uploads } from "../features/uploads/uploads.ts";
import type { Logger } from "../platform/log.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import { systemClock } from "../platform/time/clock.ts";
import { createObjectStreams } from "../stores/objects/object-streams.ts";
import type { RequestWork } from "./request-work.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
}

/** Files for bulk jobs, as the API takes them. */
export function composeUploads({
  config,
  stores,
  requestWork,
}: Omit<Deps, "log"> & { requestWork: RequestWork }): Uploads {
  const { sql, objects } = stores;
  if (objects === null || config.objects === null) return createUploads(null);
  const { retentionDays } = config;
  const streams = createObjectStreams(objects, systemClock);
  return createUploads({
    sql,
    storage: { streams, objects: createUploadObjects(objects, config.objects, systemClock) },
    preview: createPreviewUpload({
      sources: createUploadSources({ sql, streams }),
      streams,
      read: requestWork.readPreview,
      clock: systemClock,
    }),
    receive: createReceiveUpload({ sql, streams, clock: systemClock, retentionDays }),
    retentionDays,
  });
}

/** The relay's periodic tasks for uploads; empty without object storage. */
export function composeUploadPeriodicTasks({ config, log, stores }: Deps): PeriodicTask[] {
  const { sql, objects } = stores;
  if (objects === null) return [];
  const removal = createUploadRemoval({
    sql,
    streams: createObjectStreams(objects, systemClock),
    deleteBelow: (prefix) => objects.deleteBelow(prefix),
    log,
    retentionDays: config.retentionDays,
  });
  return uploadPeriodicTasks(removal);
}

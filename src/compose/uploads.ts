import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import type { PeriodicTask } from "../relay/relay.ts";
import { uploadPeriodicTasks } from "../relay/uploads.ts";
import { createPreviewUpload } from "../services/uploads/preview.ts";
import { createReceiveUpload } from "../services/uploads/receive.ts";
import { createUploadRemoval } from "../services/uploads/removal.ts";
import { createUploadSources } from "../services/uploads/upload-sources.ts";
import { createUploads, type Uploads } from "../services/uploads/uploads.ts";
import { createObjectStreams } from "../store/object-streams.ts";
import { createUploadObjects } from "../store/upload-objects.ts";
import type { RequestWork } from "./request-thread.ts";
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
      detect: requestWork.detectForPreview,
    }),
    receive: createReceiveUpload({ sql, streams, clock: systemClock, retentionDays }),
    retentionDays,
  });
}

/** What the relay does for uploads; without object storage there are none. */
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

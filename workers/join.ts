import { workerData } from "node:worker_threads";
import { createJoinHost } from "../src/bulk/join-host.ts";
import type { JoinTask } from "../src/bulk/join-messages.ts";
import type { JoinThreadSetup } from "../src/bulk/join-thread.ts";
import type { PackedError } from "../src/bulk/packed-errors.ts";
import { systemClock } from "../src/core/clock.ts";
import { createJobObjects } from "../src/store/job-objects.ts";
import { createObjectStreams } from "../src/store/object-streams.ts";
import { createObjectStore } from "../src/store/objects.ts";
import { createScratch } from "../src/store/scratch.ts";

/** The composition root of the thread that puts results together. Postgres it has none of: it asks the main thread. */
function compose({ objects, scratchDir }: JoinThreadSetup) {
  const store = createObjectStore(objects, systemClock);
  return createJoinHost({
    streams: createObjectStreams(store, systemClock),
    objects: createJobObjects(store),
    scratch: createScratch(scratchDir),
  });
}

const run = compose(workerData as JoinThreadSetup);

/** Does one join, see `JoinTask`. */
export default function join(task: JoinTask): Promise<PackedError | null> {
  return run(task);
}

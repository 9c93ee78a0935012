import { workerData } from "node:worker_threads";
import { createJobObjects } from "../src/features/bulk/results/job-objects.ts";
import { createJoinHost } from "../src/features/bulk/results/join-host.ts";
import type { JoinTask } from "../src/features/bulk/results/join-messages.ts";
import type { JoinThreadSetup } from "../src/features/bulk/results/join-thread.ts";
import type { PackedError } from "../src/features/bulk/run/packed-errors.ts";
import { systemClock } from "../src/platform/time/clock.ts";
import { createObjectStreams } from "../src/stores/objects/object-streams.ts";
import { createObjectStore } from "../src/stores/objects/objects.ts";
import { createScratch } from "../src/stores/scratch.ts";

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

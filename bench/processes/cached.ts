import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { LIMITS } from "../../src/config/limits/limits.ts";
import { DOMAINS, domainName } from "../probing/plan.ts";
import { answerParent } from "../setup/child.ts";
import { asker, type Examiners, NEVER_CANCELLED, startExaminers } from "./checks.ts";

const ASKER = asker(true);
/** Chunks in progress, as in a worker. */
const CHUNKS_AT_ONCE = LIMITS.bulk.tasksAtOnce;

/** All addresses exist, so that all entries are alike. */
const addressAt = (run: number, at: number) => `user${at}@${domainName(run, at % DOMAINS)}`;

/** A process that has checked many addresses, and stores the evidence as the service does. */
let made: Examiners | null = null;

function started(): Examiners {
  if (made === null) throw new Error("not started");
  return made;
}

/** Resident bytes of the process after a garbage collection. */
function settled(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage.rss();
}

const verbs = {
  async start(settings: Record<string, string>) {
    made = await startExaminers(settings);
  },

  resident: settled,

  /** Checks addresses `from` to `from + count` of a run. @returns how many of them were not answered by a probe */
  async fill({ run, from, count }: { run: number; from: number; count: number }) {
    const { examiner, batches } = started();
    let wrong = 0;
    let next = from;
    async function work(): Promise<void> {
      while (next < from + count) {
        const size = Math.min(LIMITS.bulk.rowsPerChunk, from + count - next);
        const first = next;
        next += size;
        const questions = Array.from({ length: size }, (_, at) =>
          examiner.understand(addressAt(run, first + at), false, ASKER),
        );
        const answers = await batches.examine(
          questions,
          { refresh: () => false, waitsForSite: true },
          NEVER_CANCELLED,
        ).done;
        for (const { finding } of answers) if (finding?.entry?.evidence.smtp == null) wrong += 1;
      }
    }
    await Promise.all(Array.from({ length: CHUNKS_AT_ONCE }, work));
    return { wrong };
  },

  /** How many of the first `count` addresses of a run are in memory. */
  held({ run, count }: { run: number; count: number }) {
    const { cache, examiner } = started();
    let held = 0;
    for (let at = 0; at < count; at++) {
      const { address } = examiner.understand(addressAt(run, at), false, ASKER);
      if (address !== null && cache.peek("probed", address.cacheKey) !== undefined) held += 1;
    }
    return held;
  },
};

export type CachedProcess = typeof verbs;

answerParent(verbs, async () => made?.close());

import { LIMITS } from "../../core/limits.ts";
import { type EmittedTask, emittedTasks, makeReadyAgain, takeReadyTasks } from "../../store/job-emission.ts";
import type { JobStream } from "../../store/job-stream.ts";
import { pointerKey } from "../../store/job-stream.ts";
import { beginAssembly, jobsToAssemble, type TaskPointer } from "../../store/job-tasks.ts";
import type { Database } from "../../store/postgres.ts";

/**
 * The way of tasks from Postgres, where they are true, into the stream, where workers find them.
 *
 * A task is put into the stream in the transaction that marks it emitted: when Redis fails it stays ready, when the
 * commit fails it is in the stream twice, which costs a second look. What Redis loses later is found by comparing the
 * two. So whatever happens, a task is emitted at least once, and done once.
 */
export interface Emitter {
  /** Fills the windows of the jobs under way. How many tasks were emitted. Rejects without Redis. */
  emit(): Promise<number>;
  /** Makes ready again what the stream has lost, and begins assemblies that nobody came to begin. */
  reconcile(isStopping: () => boolean): Promise<void>;
}

export function createEmitter({ sql, stream }: { sql: Database; stream: JobStream }): Emitter {
  const { window, teamWindow, emitJobs, reconcilePage, reconcilePages, jobsPerRound } = LIMITS.bulk;

  /** Emitted tasks, as many as the stream is read for. */
  async function readEmitted(isStopping: () => boolean): Promise<EmittedTask[]> {
    const emitted: EmittedTask[] = [];
    let after: TaskPointer | null = null;
    for (let page = 0; page < reconcilePages && !isStopping(); page++) {
      const tasks: EmittedTask[] = await emittedTasks(sql, after, reconcilePage);
      emitted.push(...tasks);
      const last = tasks.at(-1);
      if (last === undefined || tasks.length < reconcilePage) break;
      after = last;
    }
    return emitted;
  }

  return {
    async emit() {
      return sql.begin(async (tx) => {
        const tasks = await takeReadyTasks(tx, { window, teamWindow, jobs: emitJobs });
        await stream.add(tasks);
        return tasks.length;
      });
    },
    async reconcile(isStopping) {
      // First Postgres, then the stream: a task is in the stream before it is emitted, and leaves it when it is done.
      const emitted = await readEmitted(isStopping);
      if (emitted.length > 0 && !isStopping()) {
        const outstanding = await stream.outstanding(reconcilePage, reconcilePages);
        const lost = outstanding === null ? [] : emitted.filter((task) => !outstanding.has(pointerKey(task)));
        for (let i = 0; i < lost.length; i += reconcilePage)
          await makeReadyAgain(sql, lost.slice(i, i + reconcilePage));
      }
      for (const jobId of await jobsToAssemble(sql, jobsPerRound)) await beginAssembly(sql, jobId);
    },
  };
}

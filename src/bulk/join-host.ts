import type { ChunkOfResults } from "../store/job-tasks.ts";
import { type Control, createControl } from "./control.ts";
import type { FromJoinThread, JoinAnswer, JoinQuestion, ToJoinThread } from "./join-messages.ts";
import { packError, unpackError } from "./packed-errors.ts";
import { type WriteResultsDeps, writeResults } from "./write-results.ts";

export interface JoinHostDeps extends Omit<WriteResultsDeps, "chunksOf" | "granted"> {
  post(message: FromJoinThread): void;
}

interface HostedJoin {
  control: Control;
  waiting: Map<number, { resolve(answer: JoinAnswer): void; reject(error: Error): void }>;
}

/** The thread's side: joins as they are begun, as many at once as the main thread begins. @returns takes its messages */
export function createJoinHost({ post, ...parts }: JoinHostDeps): (message: ToJoinThread) => void {
  const joins = new Map<number, HostedJoin>();

  /** Asks the main thread, as long as the join is wanted. */
  function asker(join: number, { control, waiting }: HostedJoin) {
    let questions = 0;
    return (asked: JoinQuestion): Promise<JoinAnswer> => {
      const question = questions++;
      const answer = new Promise<JoinAnswer>((resolve, reject) => {
        waiting.set(question, { resolve, reject });
        control.onCancel(() => reject(control.signal.reason as Error));
      });
      post({ type: "asked", join, question, asked });
      return answer.finally(() => waiting.delete(question));
    };
  }

  async function run({ join, material, key }: Extract<ToJoinThread, { type: "begin" }>): Promise<void> {
    const hosted: HostedJoin = { control: createControl(), waiting: new Map() };
    joins.set(join, hosted);
    const askMain = asker(join, hosted);
    const deps: WriteResultsDeps = {
      ...parts,
      chunksOf: async (_job, after, limit) =>
        (await askMain({ of: "chunks", after, limit })) as ChunkOfResults[],
      granted: async (teamId, place) => (await askMain({ of: "granted", teamId, place })) as boolean,
    };
    try {
      await writeResults(deps, material, key, hosted.control.signal);
      post({ type: "ended", join, error: null });
    } catch (error) {
      post({ type: "ended", join, error: packError(error) });
    } finally {
      joins.delete(join);
    }
  }

  return (message) => {
    if (message.type === "begin") return void run(message);
    // What is about a join that has just ended came too late.
    const hosted = joins.get(message.join);
    if (message.type === "cancel") return hosted?.control.cancel();
    const asked = hosted?.waiting.get(message.question);
    if (message.type === "answer") asked?.resolve(message.answer);
    else asked?.reject(unpackError(message.error));
  };
}

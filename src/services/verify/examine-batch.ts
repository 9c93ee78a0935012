import type { CacheEntry } from "../../store/evidence-cache.ts";
import type { Examiner, Finding, Question } from "./examine.ts";
import type { Waiter } from "./flights.ts";

/** Why a row has no answer yet, and at which site: "" while its domain's mail exchangers were not known. */
export interface Deferred {
  site: string;
  /** `busy`: the site's line is long; `unfinished`: handed in, or cancelled, before its answer came. */
  cause: "busy" | "unfinished";
}

export type BatchAnswer =
  | { finding: Finding; deferred?: undefined }
  | { finding?: undefined; deferred: Deferred };

export interface BatchOptions {
  /** Do not be content with this entry of the cache. */
  refresh(entry: CacheEntry): boolean;
  /** Wait behind a long line of a busy site, until handed in, instead of leaving it at once. */
  patient: boolean;
}

/** Rows under way. */
export interface BatchRun {
  /** One answer for each question, in order. Never rejects; after a cancellation what it says is of no use. */
  readonly done: Promise<BatchAnswer[]>;
  /** Questions without an answer at present. */
  readonly left: number;
  /** Ends the waiting: `done` resolves soon with what is known, all else is `unfinished`. Idempotent. */
  handIn(): void;
}

/** Examines many addresses at once, e.g. the rows of a chunk; each question stands once in a batch. */
export interface BatchExaminer {
  examine(
    questions: readonly Question[],
    options: BatchOptions,
    control: Pick<Waiter, "cancelled" | "onCancel">,
  ): BatchRun;
}

export interface BatchExaminerDeps {
  clock: { monotonic(): number };
  examiner: Pick<Examiner, "find">;
}

const UNFINISHED: BatchAnswer = { deferred: { site: "", cause: "unfinished" } };

export function createBatchExaminer(deps: BatchExaminerDeps): BatchExaminer {
  return {
    examine(questions, _options, control) {
      let left = questions.length;
      let handIn = () => {};
      const handedIn = new Promise<BatchAnswer>((resolve) => {
        handIn = () => resolve(UNFINISHED);
      });
      control.onCancel(handIn);
      const startedMs = deps.clock.monotonic();
      const answers = questions.map(async (question): Promise<BatchAnswer> => {
        try {
          return { finding: await deps.examiner.find(question, false, { startedMs, ...control }) };
        } catch {
          return UNFINISHED;
        } finally {
          left -= 1;
        }
      });
      return {
        done: Promise.all(answers.map((answer) => Promise.race([answer, handedIn]))),
        get left() {
          return left;
        },
        handIn,
      };
    },
  };
}

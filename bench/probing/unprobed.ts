import { LIMITS } from "../../src/config/limits/limits.ts";
import type { RowsProcess } from "../processes/rows.ts";
import { InvalidRun, interleave, type Subject } from "../report/figures.ts";
import { ratio, type Section } from "../report/table.ts";
import { startChild } from "../setup/child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "../setup/context.ts";
import { startMail } from "../sinks/mail.ts";
import { DOMAINS } from "./plan.ts";
import { planInternet } from "./plan-internet.ts";

const ROUNDS = 5;
/** Chunks of a job, whole ones. */
const ROWS = 40_000;
/** The MX records of one set of domains, asked for in the warm-up, are all that is ever needed. */
const RUN = 1_000;

/** The rows of jobs without SMTP, the look into the cache included: in batches, and one by one as requests come. */
export async function benchUnprobedRows(context: BenchContext): Promise<Section> {
  return withChildren(async (keep) => {
    const world = await startMail(context, keep, planInternet({ worlds: [[RUN]] }));
    const rows = keep(await startChild<RowsProcess>("rows", context));
    const { threads } = await rows.call("start", settingsFor(context, world));
    const subject = (verb: "batches" | "singles"): Subject => ({
      async run(round) {
        const input = { run: RUN, count: ROWS, round: `${verb}${round}.` };
        const { sample, wrong } = await rows.call(verb, input);
        requireRight(verb, wrong);
        return sample;
      },
    });
    const ceiling: Subject = {
      run: async () => (await rows.call("constant", { run: RUN, count: ROWS, round: "c." })).sample,
    };
    const subjects = [subject("batches"), subject("singles"), ceiling];
    const [batches, singles, constant] = await interleave(subjects, ROUNDS);
    if (!batches || !singles || !constant) throw new InvalidRun("a subject is missing");
    const { rowsPerChunk, tasksAtOnce } = LIMITS.bulk;
    return {
      title: "Rows without SMTP",
      configuration: [
        `${threads} threads, ${ROWS} new rows a run in chunks of ${rowsPerChunk}, ${tasksAtOnce} at once; ${DOMAINS} domains whose MX is cached`,
        `looked up in Redis, checked; what nobody was asked for is not kept; medians of ${ROUNDS} runs by turns`,
      ],
      unit: "rows",
      lines: [
        {
          name: "batches",
          figures: batches,
          ratios: [
            `${ratio(singles.cpuUs, batches.cpuUs, "one by one")} in CPU`,
            ratio(batches.perS, singles.perS, "one by one"),
            ratio(batches.perS, constant.perS, "constant"),
          ],
        },
        { name: "one by one", figures: singles, ratios: ["a look and a task for each row"] },
        {
          name: "constant",
          figures: constant,
          ratios: ["ceiling: threads that answer the same bytes at once"],
        },
      ],
      targets: [],
      notes: [],
    };
  });
}

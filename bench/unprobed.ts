import { startChild } from "./child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "./context.ts";
import { InvalidRun, interleave, type Subject } from "./figures.ts";
import { DOMAINS } from "./plan.ts";
import type { EngineProcess } from "./processes/engine.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import { ratio, type Section } from "./table.ts";

const ROUNDS = 5;
const CHECKS = 30_000;
/** The MX records of one set of domains, asked for in the warm-up, are all that is ever needed. */
const RUN = 1_000;

/** The engine without SMTP: MX from the cache, lists, evidence, there and back through the threads. */
export async function benchUnprobed(context: BenchContext): Promise<Section> {
  return withChildren(async (keep) => {
    const mail = keep(await startChild<MailServers>("mail-servers", context));
    const world = await mail.call("start", { latencyMs: 0, runs: [RUN] });
    const engine = keep(await startChild<EngineProcess>("engine", context));
    const { threads } = await engine.call("start", settingsFor(context, world));
    const checks: Subject = {
      async run() {
        const input = { run: RUN, count: CHECKS, scope: "unprobed" } as const;
        const { sample, wrong } = await engine.call("check", input);
        requireRight("engine", wrong);
        return sample;
      },
    };
    const ceiling: Subject = {
      run: async () => (await engine.call("constant", { count: CHECKS })).sample,
    };
    const [whole, constant] = await interleave([checks, ceiling], ROUNDS);
    if (!whole || !constant) throw new InvalidRun("a subject is missing");
    return {
      title: "Checks without SMTP",
      configuration: [
        `${threads} threads, ${CHECKS} checks a run, one a task, ${DOMAINS} domains whose MX is cached; medians of ${ROUNDS} runs by turns`,
        "CPU of all threads of the process, the one that asks included",
      ],
      unit: "checks",
      lines: [
        {
          name: "engine",
          figures: whole,
          ratios: [
            `${ratio(constant.cpuUs, whole.cpuUs, "constant")} in CPU`,
            ratio(whole.perS, constant.perS, "constant"),
          ],
        },
        {
          name: "constant",
          figures: constant,
          ratios: ["ceiling: threads that answer the same bytes at once"],
        },
      ],
      notes: [],
    };
  });
}

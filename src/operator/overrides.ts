import { LIMITS } from "../config/limits/limits.ts";
import type { PromotableDomain, Promotion, PromotionOutcome } from "../features/overrides/promotion.ts";
import { parseCommandLine, runCommand, type Terminal, UsageError } from "./command.ts";

export const OVERRIDES_USAGE =
  "usage: npm run overrides -- list [--pending-promotion] | promote DOMAIN... | demote DOMAIN...";

const OPTIONS = { "pending-promotion": { type: "boolean", default: false } } as const;

type OverridesArgs =
  | { verb: "list"; pendingPromotion: boolean }
  | { verb: "promote" | "demote"; domains: string[] };

/** @throws UsageError one line that names the fault. */
function parseOverridesArgs(argv: string[]): OverridesArgs {
  const config = { args: argv, options: OPTIONS, allowPositionals: true } as const;
  const { values, positionals } = parseCommandLine(config, OVERRIDES_USAGE);
  const [verb, ...domains] = positionals;
  const pendingPromotion = values["pending-promotion"];
  if (verb === "list") {
    if (domains.length > 0) throw new UsageError(`list takes no domains (${OVERRIDES_USAGE})`);
    return { verb, pendingPromotion };
  }
  if (verb !== "promote" && verb !== "demote") throw new UsageError(OVERRIDES_USAGE);
  const max = LIMITS.overrides.operatorArguments;
  if (pendingPromotion) throw new UsageError(`--pending-promotion is of list (${OVERRIDES_USAGE})`);
  if (domains.length === 0) throw new UsageError(`${verb} needs a domain (${OVERRIDES_USAGE})`);
  if (domains.length > max) throw new UsageError(`${verb} takes ${max} domains at a time`);
  return { verb, domains };
}

const lines = (texts: string[]) => texts.map((text) => `${text}\n`).join("");

function describeCandidate({ domain, teams, refusal }: PromotableDomain): string {
  const submitted = `${domain}\t${teams} ${teams === 1 ? "team" : "teams"}`;
  return refusal === null ? submitted : `${submitted}\twould be refused: ${refusal}`;
}

export interface OverridesCommand extends Terminal {
  argv: string[];
  /** Opens the database, and reads the lists, only when the arguments are right. */
  withPromotion<T>(work: (promotion: Promotion) => Promise<T>): Promise<T>;
}

/**
 * The command `overrides`; the exit code: 0 done, 1 refused, with a line on standard error for each refused domain and
 * nothing changed, 2 wrong arguments. Other failures are the caller's to report.
 */
export async function runOverrides(command: OverridesCommand): Promise<number> {
  let refused = false;

  function report(verb: "promote" | "demote", outcome: PromotionOutcome): string {
    if ("refused" in outcome) {
      refused = true;
      command.stderr(lines(outcome.refused.map(({ name, why }) => `overrides: ${name} ${why}`)));
      command.stderr("overrides: nothing was changed\n");
      return "";
    }
    return lines([
      ...outcome.changed.map((domain) => `${domain} ${verb}d`),
      ...outcome.unchanged.map((domain) => `${domain} was ${verb}d already`),
    ]);
  }

  const code = await runCommand("overrides", command, () => {
    const args = parseOverridesArgs(command.argv);
    return command.withPromotion(async (promotion) => {
      if (args.verb !== "list") return report(args.verb, await promotion[args.verb](args.domains));
      if (args.pendingPromotion) return lines((await promotion.candidates()).map(describeCandidate));
      return lines(await promotion.promoted());
    });
  });
  return refused ? 1 : code;
}

import type { RcptOutcome } from "../smtp/outcome.ts";
import { type Asked, ask, type Target } from "./asking.ts";
import type { CheckTrace } from "./check-times.ts";
import { type ConcludeDeps, conclude, cutOff, disbelieved, type Found, unasked } from "./conclude.ts";
import type { CheckMode, SmtpEvidence } from "./evidence.ts";
import type { Exchanger, ProbeControl } from "./probe.ts";
import type { SiteLines } from "./site-lines.ts";

export interface ProbingDeps extends ConcludeDeps {
  lines: SiteLines;
}

/** How a check goes about its probe. */
export interface Manner {
  mode: CheckMode;
  /** Told each site before it is asked. */
  onSite(site: string): void;
  probe: ProbeControl;
  /** As of `CheckCaller`. */
  trace?: CheckTrace | null;
}

/** Asks the mail server, unless it is known beforehand that asking cannot tell, or would take a long wait. */
export async function probeTarget(
  deps: ProbingDeps,
  target: Target,
  first: Exchanger,
  manner: Manner,
): Promise<Found> {
  if (deps.shaping.cannotBeBelieved(first.provider, first.site))
    return unasked("provider_unverifiable", "their_server", "provider_habit");
  const doubt = deps.beliefs.habitOf(first.site);
  if (doubt !== null && !deps.beliefs.explores(first.site, target.domain))
    return disbelieved(unasked("provider_unverifiable", "their_server", ""), `belief.${doubt}`);
  const known = withoutAsking(deps, target, first);
  if (known) return known;
  return probeInLine(deps, target, manner);
}

/**
 * It stands in the line of the site that it is asking, or about to ask.
 * @param begun the end of its first attempt, at the best exchanger, in whose line it stands already
 */
export async function probeInLine(
  deps: ProbingDeps,
  target: Target,
  manner: Manner,
  begun?: RcptOutcome,
): Promise<Found> {
  return conclude(deps, target, await askInLine(deps, target, manner, begun), manner);
}

async function askInLine(
  deps: ProbingDeps,
  target: Target,
  { mode, onSite, probe, trace = null }: Manner,
  begun: RcptOutcome | undefined,
): Promise<Asked> {
  const [best] = target.route.exchangers;
  let line: string | null = begun === undefined ? null : (best?.site ?? null);
  const leave = () => line !== null && deps.lines.leave(line);
  /** Before the breaker: a half-open one must not be asked by whoever then leaves. */
  function turnTo({ site, policy }: Exchanger): boolean {
    if (site === line) return true;
    leave();
    line = null;
    onSite(site);
    if (mode === "bulk" && deps.lines.isLong(site, policy, deps.paths.capsOf(site))) return false;
    deps.lines.enter(site);
    line = site;
    return true;
  }
  const { route, local } = target;
  try {
    return await ask(deps, target, { route, local, control: probe, turnTo, trace, ...(begun && { begun }) });
  } finally {
    leave();
  }
}

function withoutAsking(
  deps: ProbingDeps,
  { address }: Target,
  { site, host }: Exchanger,
): SmtpEvidence | null {
  if (!deps.network.isDown()) return null;
  deps.network.offer(site, host, address);
  return cutOff(deps, "");
}

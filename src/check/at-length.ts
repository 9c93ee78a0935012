import type { RcptOutcome } from "../smtp/outcome.ts";
import type { CheckTrace } from "./check-times.ts";
import {
  asUnverifiable,
  type ConcludeDeps,
  concludeProbe,
  cutOffEvidence,
  type ProbeConclusion,
  unaskedEvidence,
} from "./conclude.ts";
import type { CheckMode, SmtpEvidence } from "./evidence.ts";
import { type ProbeResult, type ProbeTarget, runGuardedProbe } from "./guarded-probe.ts";
import type { Exchanger, ProbeControl } from "./probe.ts";
import type { SiteQueues } from "./site-queues.ts";

export interface ProbingDeps extends ConcludeDeps {
  lines: SiteQueues;
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
  target: ProbeTarget,
  first: Exchanger,
  manner: Manner,
): Promise<ProbeConclusion> {
  if (deps.shaping.isUnverifiable(first.provider, first.site))
    return unaskedEvidence("provider_unverifiable", "their_server", "provider_habit");
  const doubt = deps.behaviours.behaviourOf(first.site);
  if (doubt !== null && !deps.behaviours.shouldExplore(first.site, target.domain))
    return asUnverifiable(unaskedEvidence("provider_unverifiable", "their_server", ""), `belief.${doubt}`);
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
  target: ProbeTarget,
  manner: Manner,
  begun?: RcptOutcome,
): Promise<ProbeConclusion> {
  return concludeProbe(deps, target, await askInLine(deps, target, manner, begun), manner);
}

async function askInLine(
  deps: ProbingDeps,
  target: ProbeTarget,
  { mode, onSite, probe, trace = null }: Manner,
  begun: RcptOutcome | undefined,
): Promise<ProbeResult> {
  const [best] = target.route.exchangers;
  let line: string | null = begun === undefined ? null : (best?.site ?? null);
  const leave = () => line !== null && deps.lines.leave(line);
  /** Before the breaker: a half-open one must not be asked by whoever then leaves. */
  function turnTo({ site, policy }: Exchanger): boolean {
    if (site === line) return true;
    leave();
    line = null;
    onSite(site);
    if (mode === "bulk" && deps.lines.isLong(site, policy, deps.paths.capCountOf(site))) return false;
    deps.lines.enter(site);
    line = site;
    return true;
  }
  const { route, local } = target;
  try {
    return await runGuardedProbe(deps, target, {
      route,
      local,
      control: probe,
      mayQueueAt: turnTo,
      trace,
      ...(begun && { begun }),
    });
  } finally {
    leave();
  }
}

function withoutAsking(
  deps: ProbingDeps,
  { address }: ProbeTarget,
  { site, host }: Exchanger,
): SmtpEvidence | null {
  if (!deps.network.isDown()) return null;
  deps.network.offerCandidate(site, host, address);
  return cutOffEvidence(deps, "");
}

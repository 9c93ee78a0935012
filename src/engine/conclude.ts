import type { Shaping } from "../egress/shaping.ts";
import { type CatchAllAnswer, catchAllKey, isLastingCatchAllAnswer } from "../verification/catch-all.ts";
import type { CatchAll, CheckMode, SmtpEvidence } from "../verification/evidence.ts";
import type { SiteDirectory } from "../verification/lists/site.ts";
import { type ReplyEvidence, replyEvidenceOf } from "../verification/reply-readings.ts";
import { type CatchAllProbeAnswer, type CatchAllProbeDeps, findCatchAll } from "./catch-all-probe.ts";
import type { GuardedProbeDeps, ProbeResult, ProbeTarget } from "./guarded-probe.ts";
import type { LearnedBehaviour } from "./learned-behaviour/messages.ts";
import type { SiteBehaviours } from "./learned-behaviour/mirror.ts";
import type { Exchanger, ProbeControl } from "./probe.ts";
import { catchAllProbeBudgetMs, isRefusalBelieved } from "./refusal-control.ts";

/** The self-check's judgement of our sender identity, by egress route. */
export interface RouteTrust {
  /** False while our sender identity is not in order there: a refusal at RCPT then makes no address invalid. */
  trusts(path: string): boolean;
}

export interface ConcludeDeps extends CatchAllProbeDeps {
  routeTrust: RouteTrust;
  shaping: Shaping;
  sites: SiteDirectory;
  behaviours: SiteBehaviours;
}

/** The evidence of a probe; null: the caller has disconnected; `busy`: its site could not be asked without a long wait. */
export type ProbeConclusion = SmtpEvidence | "busy" | null;

export interface ConclusionContext {
  mode: CheckMode;
  probe: Pick<ProbeControl, "cancelled" | "deadlineAt">;
}

/**
 * Concludes evidence about the address from the outcome of a probe. An accepted address gets the catch-all answer of its
 * host. A refusal by a site that may refuse every address is checked first. Returns a promise only if one of these is not
 * known yet.
 */
export function concludeProbe(
  deps: ConcludeDeps,
  target: ProbeTarget,
  asked: ProbeResult,
  { mode, probe }: ConclusionContext,
): ProbeConclusion | Promise<ProbeConclusion> {
  const { outcome, ruling, exchanger } = asked;
  if (outcome.kind === "failure" && outcome.cause === "cancelled") return null;
  if (outcome.kind === "failure" && outcome.cause === "no_slot" && mode !== "single") return "busy";
  if (outcome.kind === "failure" && outcome.cause === "held_back") return heldBackEvidence(asked);
  if (outcome.kind === "failure" && outcome.cause === "cut_off") return cutOffEvidence(deps, outcome.path);
  if (ruling.class === "accepted" || ruling.class === "mailbox_full")
    deps.behaviours.onAccepted(exchanger.site, target.domain);
  if (ruling.class !== "accepted") return concludeRefused(deps, target, asked);
  if (probe.cancelled()) return null;
  const fact = knownCatchAll(deps, target, asked);
  if (fact !== undefined) {
    deps.catchAllLookUps.hit++;
    return concludeAccepted(deps, target, asked, mode, { catchAll: fact, retryAfterS: null });
  }
  const budgetMs = Math.min(probe.deadlineAt - deps.clock.monotonic(), catchAllProbeBudgetMs(mode));
  return findCatchAll(deps, target, exchanger, budgetMs).then((answer) =>
    concludeAccepted(deps, target, asked, mode, answer),
  );
}

/**
 * The catch-all answer that is known, from the fast route or the cache. The route may get an answer that is as old as a
 * thread keeps it. So an answer lives for `LIMITS.check.planKeptMs` beyond `catchAllPerThreadMs` at most. An inconclusive
 * answer is not kept: a row that is retried at the server's time needs a new one.
 */
function knownCatchAll(
  deps: ConcludeDeps,
  { domain }: ProbeTarget,
  asked: ProbeResult,
): CatchAllAnswer | undefined {
  const { exchanger, fastRoute } = asked;
  if (fastRoute === undefined) return deps.facts.known(catchAllKey(domain, exchanger.site, exchanger.host));
  if (fastRoute.catchAll !== undefined) return fastRoute.catchAll;
  const fact = deps.facts.known(fastRoute.catchAllKey);
  if (fact !== undefined && isLastingCatchAllAnswer(fact)) fastRoute.catchAll = fact;
  return fact;
}

function concludeRefused(
  deps: ConcludeDeps,
  target: ProbeTarget,
  asked: ProbeResult,
): ProbeConclusion | Promise<ProbeConclusion> {
  const { exchanger } = asked;
  const found = smtpEvidence(deps, target, asked, "not_probed");
  const condemns = found.class === "mailbox_not_found" && found.stage === "rcpt" && found.trusted;
  if (condemns && isUnverifiableByShaping(deps, exchanger)) return asUnverifiable(found, "provider_habit");
  if (!condemns) return found;
  const judged = (believed: boolean) => (believed ? found : asUnverifiable(found, "belief.refuses_all"));
  const believed = isRefusalBelieved(deps, target, exchanger.site);
  return believed instanceof Promise ? believed.then(judged) : judged(believed);
}

function concludeAccepted(
  deps: ConcludeDeps,
  target: ProbeTarget,
  asked: ProbeResult,
  mode: CheckMode,
  { catchAll, retryAfterS }: CatchAllProbeAnswer,
): ProbeConclusion {
  const { outcome, exchanger } = asked;
  // A row has time: the answer is worth more once the catch-all probe can be made too.
  if (catchAll === "not_probed" && mode !== "single") {
    const state = asked.guards.at(exchanger).stateOf(outcome.path);
    if (state === "open") return heldBackEvidence(asked);
    if (state === "watched") return catchAllProbeBlocked(outcome.host);
  }
  const found = { ...smtpEvidence(deps, target, asked, catchAll), retryAfterS };
  if (isUnverifiableByShaping(deps, exchanger)) return asUnverifiable(found, "provider_habit");
  const habit = deps.behaviours.behaviourOf(exchanger.site);
  return habit === "accepts_all" && catchAll !== "refused" ? asUnverifiable(found, `belief.${habit}`) : found;
}

/** For the first host shaping is checked before the probe; for a later host only here. */
function isUnverifiableByShaping({ shaping }: ConcludeDeps, { provider, site }: Exchanger): boolean {
  return shaping.isUnverifiable(provider, site);
}

/** Evidence of a site whose answers prove nothing. */
export function asUnverifiable(
  found: SmtpEvidence,
  rule: "provider_habit" | `belief.${LearnedBehaviour}`,
): SmtpEvidence {
  return { ...found, class: "provider_unverifiable", fault: "their_server", rule };
}

/** Evidence without a probe, since the site blocks us. `retryAfterS`: the time until it may be asked again. */
function heldBackEvidence({ outcome: { path, host }, exchanger, guards }: ProbeResult): SmtpEvidence {
  const retryAfterS = Math.max(1, Math.ceil(guards.at(exchanger).retryAfterMs(path) / 1_000));
  return {
    ...unaskedEvidence("sender_blocked", "our_address", "breaker_open"),
    mxHost: host,
    path,
    retryAfterS,
  };
}

function catchAllProbeBlocked(mxHost: string): SmtpEvidence {
  return { ...unaskedEvidence("sender_blocked", "our_address", "stranger_blocked"), mxHost };
}

export function cutOffEvidence({ network }: Pick<GuardedProbeDeps, "network">, path: string): SmtpEvidence {
  const rule = network.nothingReachedYet() ? "nothing_reached_yet" : "no_site_reachable";
  return { ...unaskedEvidence("our_network", "our_network", rule), path };
}

export function unaskedEvidence(
  smtpClass: SmtpEvidence["class"],
  fault: SmtpEvidence["fault"],
  rule: string,
): Required<SmtpEvidence> {
  const nothing = { code: 0, enhancedCode: null, reply: "", mxHost: "", path: "", latencyMs: 0, tls: false };
  const rest = { trusted: true, retryAfterS: null, catchAll: "not_probed" } as const;
  return { class: smtpClass, fault, stage: "connect", rule, ...nothing, ...rest };
}

function smtpEvidence(
  deps: ConcludeDeps,
  target: ProbeTarget,
  { outcome, ruling, exchanger, said }: ProbeResult,
  catchAll: CatchAll,
): SmtpEvidence {
  const { provider } = exchanger;
  const whole =
    said ?? replyEvidenceOf(outcome, ruling, { provider, self: deps.self.at(outcome.path) }, target.address);
  return withProbeContext(
    whole,
    deps.routeTrust.trusts(outcome.path),
    Math.round(outcome.latencyMs),
    catchAll,
  );
}

/** Written out: to spread `said` costs 180 ns instead of 33. `Required`, lest a field that was added later be left out. */
function withProbeContext(
  said: ReplyEvidence,
  trusted: boolean,
  latencyMs: number,
  catchAll: CatchAll,
): Required<SmtpEvidence> {
  return {
    class: said.class,
    fault: said.fault,
    stage: said.stage,
    code: said.code,
    enhancedCode: said.enhancedCode,
    reply: said.reply,
    rule: said.rule,
    mxHost: said.mxHost,
    path: said.path,
    trusted,
    retryAfterS: said.retryAfterS,
    latencyMs,
    tls: said.tls,
    catchAll,
  };
}

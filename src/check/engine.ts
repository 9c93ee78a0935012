import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Resolver } from "../dns/resolver.ts";
import { type Mailbox, parseMailbox } from "../smtp/mailbox.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import type { SmtpPool } from "../smtp/pool.ts";
import type { Board } from "./board.ts";
import type { Breaker } from "./breaker.ts";
import { type CatchAllFacts, catchAllAnswer, catchAllKey, randomLocalPart } from "./catch-all.ts";
import { type Classification, classify, redactReply, type SelfIdentity } from "./classify/classify.ts";
import type { CatchAll, Evidence, MxEvidence, Scope, SmtpEvidence } from "./evidence.ts";
import type { Lists } from "./lists/lists.ts";
import { lookUpMx, type MxAnswer } from "./mx.ts";
import { type ProbeControl, type ProbeRoute, probeMailbox } from "./probe.ts";
import type { Shaping } from "./shaping.ts";
import { siteOf } from "./site.ts";

/**
 * The product on one page: what can be learnt about one address, in the order in which it is cheap to learn.
 * Format was checked before (`parseAddress`), verdicts are drawn later (`decide`); here is only evidence.
 */
export interface CheckEngine {
  /**
   * Never rejects for the network's sake.
   * @param address normalised `local@domain` from `parseAddress`
   * @returns the evidence, or null when `cancelled` said that nobody waits any more
   */
  check(address: string, scope: Scope, cancelled: () => boolean): Promise<Evidence | null>;
}

export interface EngineDeps {
  clock: Clock;
  resolver: Resolver;
  pool: SmtpPool;
  lists: Lists;
  shaping: Shaping;
  facts: CatchAllFacts;
  breaker: Breaker;
  board: Board;
  self: SelfIdentity;
  /** Told of every attempt to reach a site that has MX records. */
  reach: { connected(): void; unreachable(site: string, provider: string | null): void };
  onProbe(provider: string | null, outcome: SmtpEvidence["class"]): void;
}

interface Target {
  address: string;
  local: string;
  domain: string;
  mx: MxAnswer;
  provider: string | null;
  route: ProbeRoute;
}

export function createEngine(deps: EngineDeps): CheckEngine {
  return {
    async check(address, scope, cancelled) {
      const at = address.lastIndexOf("@");
      const local = address.slice(0, at);
      const domain = address.slice(at + 1);
      const mx = await lookUpMx(deps.resolver, domain);
      const { site, provider } = siteOf(mx.hosts, domain);
      const evidence: Evidence = {
        v: 1,
        mx: mxEvidence(mx, provider),
        disposable: deps.lists.disposable(domain),
        role: deps.lists.role(local),
        freeProvider: deps.lists.isFree(domain),
        smtp: null,
      };
      const reachable = mx.status === "ok" || mx.status === "implicit";
      if (scope === "unprobed" || !reachable || evidence.disposable.listed) return evidence;
      if (cancelled()) return null;
      const route = { site, hosts: mx.hosts, policy: deps.shaping.policyFor(provider) };
      evidence.smtp = await probeTarget(deps, { address, local, domain, mx, provider, route }, cancelled);
      if (evidence.smtp === null) return null;
      deps.onProbe(provider, evidence.smtp.class);
      return evidence;
    },
  };
}

function mxEvidence(mx: MxAnswer, provider: string | null): MxEvidence {
  return { status: mx.status, hosts: mx.hosts, provider, ttlS: mx.ttlS, fault: mx.fault };
}

/** Asks the mail server, unless it is known beforehand that asking cannot tell. */
async function probeTarget(
  deps: EngineDeps,
  target: Target,
  cancelled: () => boolean,
): Promise<SmtpEvidence | null> {
  const known = withoutAsking(deps, target);
  if (known) return known;
  const control: ProbeControl = { cancelled, deadlineAt: deps.clock.monotonic() + LIMITS.smtp.probeBudgetMs };
  const outcome = await probeMailbox(probeDeps(deps), target.route, mailboxOf(target.address), control);
  if (outcome.kind === "failure" && outcome.cause === "cancelled") return null;
  const ruling = classify(outcome, { provider: target.provider, self: deps.self });
  report(deps, target, outcome, ruling);
  if (ruling.class !== "accepted") return smtpEvidence(outcome, ruling, "not_probed");
  if (cancelled()) return null;
  return smtpEvidence(outcome, ruling, await catchAllOf(deps, target, outcome.host));
}

function withoutAsking(deps: EngineDeps, target: Target): SmtpEvidence | null {
  const { clock, board, breaker, shaping } = deps;
  if (shaping.cannotBeBelieved(target.provider)) {
    return unasked("provider_unverifiable", "their_server", "provider_habit");
  }
  if (
    board.network() === "down" &&
    !board.takeTrial(Math.floor(clock.monotonic() / 1000), LIMITS.network.trialEveryS)
  ) {
    return unasked("our_network", "our_network", "no_site_reachable");
  }
  if (!breaker.allows(target.route.site)) return unasked("sender_blocked", "our_address", "breaker_open");
  return null;
}

function unasked(smtpClass: SmtpEvidence["class"], fault: SmtpEvidence["fault"], rule: string): SmtpEvidence {
  const nothing = { code: 0, enhancedCode: null, reply: "", mxHost: "", latencyMs: 0, tls: false };
  return { class: smtpClass, fault, stage: "connect", rule, ...nothing, catchAll: "not_probed" };
}

/** Tells the breaker and the network watch what this probe's end says of us. */
function report(deps: EngineDeps, target: Target, outcome: RcptOutcome, ruling: Classification): void {
  if (ruling.class === "sender_blocked") deps.breaker.blocked(target.route.site);
  else deps.breaker.passed(target.route.site);
  const dialled = outcome.stage !== "dns" && outcome.stage !== "connect";
  if (dialled) {
    if (deps.board.network() !== "fine") deps.reach.connected();
    return;
  }
  const cutOff = outcome.kind === "failure" && ["timeout", "unreachable", "refused"].includes(outcome.cause);
  // A domain without MX records often runs no mail server at all: its silence says nothing about our network.
  if (cutOff && target.mx.status === "ok") deps.reach.unreachable(target.route.site, target.provider);
}

/** The random question, at the host that accepted the real address. */
async function catchAllOf(deps: EngineDeps, target: Target, host: string): Promise<CatchAll> {
  const key = catchAllKey(target.domain, target.route.site);
  const fact = await deps.facts.claim(key);
  if (fact !== "ask") return fact;
  let answer: ReturnType<typeof catchAllAnswer> = "inconclusive";
  try {
    const control = {
      cancelled: () => false,
      deadlineAt: deps.clock.monotonic() + LIMITS.smtp.probeBudgetMs,
    };
    const stranger = mailboxOf(`${randomLocalPart()}@${target.domain}`);
    const outcome = await probeMailbox(
      probeDeps(deps),
      { ...target.route, hosts: [host] },
      stranger,
      control,
    );
    answer = catchAllAnswer(classify(outcome, { provider: target.provider, self: deps.self }).class);
  } finally {
    deps.facts.settle(key, answer);
  }
  return answer;
}

/** What `parseAddress` lets pass may stand in a command; anything else here is a fault of ours, and nothing is sent. */
function mailboxOf(address: string): Mailbox {
  const box = parseMailbox(address);
  if (box === null) throw new Error("an address that was not parsed reached the engine");
  return box;
}

function probeDeps(deps: EngineDeps) {
  return { resolver: deps.resolver, pool: deps.pool, monotonic: () => deps.clock.monotonic() };
}

function smtpEvidence(outcome: RcptOutcome, ruling: Classification, catchAll: CatchAll): SmtpEvidence {
  const reply = outcome.kind === "reply" ? outcome.reply : null;
  return {
    class: ruling.class,
    fault: ruling.fault,
    stage: outcome.stage,
    code: reply?.code ?? 0,
    enhancedCode: reply?.enhanced ?? null,
    reply: outcome.kind === "reply" ? redactReply(outcome.reply) : outcome.detail,
    rule: ruling.rule,
    mxHost: outcome.host,
    latencyMs: Math.round(outcome.latencyMs),
    tls: outcome.tls,
    catchAll,
  };
}

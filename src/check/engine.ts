import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { type AskDeps, type Asked, ask, exchangersOf, type Target } from "./asking.ts";
import type { Habit } from "./belief/messages.ts";
import type { Beliefs } from "./belief/mirror.ts";
import type { CatchAllFacts } from "./catch-all.ts";
import { redactReply } from "./classify/classify.ts";
import { delayOf } from "./classify/delay.ts";
import { believable, questionBudgetMs } from "./control.ts";
import type { CatchAll, CheckMode, Evidence, MxEvidence, Scope, SmtpEvidence } from "./evidence.ts";
import type { Lists } from "./lists/lists.ts";
import { disposableBy } from "./lists/mx-hosts.ts";
import { lookUpMx, type MxAnswer } from "./mx.ts";
import type { Exchanger, ProbeControl } from "./probe.ts";
import type { Shaping } from "./shaping.ts";
import type { SiteDirectory } from "./site.ts";
import type { SiteLines } from "./site-lines.ts";
import { catchAllOf } from "./stranger.ts";

/**
 * The product on one page: what can be learnt about one address, in the order in which it is cheap to learn.
 * Format was checked before (`parseAddress`), verdicts are drawn later (`decide`); here is only evidence.
 */
export interface CheckEngine {
  /**
   * Never rejects for the network's sake.
   * @param address normalised `local@domain` from `parseAddress`
   * @returns the evidence; null when `cancelled` said that nobody waits any more; `busy`, never in the mode `single`,
   *   when its site could not be asked without a long wait
   */
  check(address: string, scope: Scope, control: CheckControl): Promise<Evidence | "busy" | null>;
}

export interface CheckControl {
  mode: CheckMode;
  cancelled(): boolean;
  /** Told each site before it is asked. */
  onSite(site: string): void;
}

export interface EngineDeps extends AskDeps {
  house: House;
  lines: SiteLines;
  lists: Lists;
  shaping: Shaping;
  sites: SiteDirectory;
  facts: CatchAllFacts;
  beliefs: Beliefs;
  onProbe(provider: string | null, outcome: SmtpEvidence["class"]): void;
}

/** What preflight found of our own house, by way out. */
export interface House {
  /** False while it is not in order there: what RCPT is answered then can condemn nobody. */
  trusts(path: string): boolean;
}

export function createEngine(deps: EngineDeps): CheckEngine {
  return {
    async check(address, scope, control) {
      const probe = probeControl(deps.clock, control);
      const at = address.lastIndexOf("@");
      const local = address.slice(0, at);
      const domain = address.slice(at + 1);
      const mx = await lookUpMx(deps.resolver, domain);
      const exchangers = exchangersOf(deps, mx.hosts, domain);
      const [first] = exchangers;
      const evidence: Evidence = {
        v: 2,
        mx: mxEvidence(mx, first?.provider ?? null),
        disposable: disposableBy(deps.lists, domain, mx.hosts),
        role: deps.lists.role(local),
        freeProvider: deps.lists.isFree(domain),
        smtp: null,
      };
      const reachable = mx.status === "ok" || mx.status === "implicit";
      if (scope === "unprobed" || !reachable || first === undefined || evidence.disposable.listed)
        return evidence;
      control.onSite(first.site);
      if (control.cancelled()) return null;
      const route = { exchangers, published: mx.status === "ok" };
      const target = { address, local, domain, mx, route };
      const smtp = await probeTarget(deps, target, first, { ...control, probe });
      if (smtp === null || smtp === "busy") return smtp;
      evidence.smtp = smtp;
      const asked = exchangers.find(({ host }) => host === smtp.mxHost) ?? first;
      deps.onProbe(asked.provider, smtp.class);
      return evidence;
    },
  };
}

function mxEvidence(mx: MxAnswer, provider: string | null): MxEvidence {
  const hosts = mx.hosts.slice(0, LIMITS.check.mxHostsReported);
  return { status: mx.status, hosts, provider, ttlS: mx.ttlS, fault: mx.fault };
}

/** A check's time begins with it; a patient one's when its turn has come, since until then it waited for us. */
function probeControl(clock: Clock, { mode, cancelled }: CheckControl): ProbeControl {
  const due = () => clock.monotonic() + LIMITS.smtp.probeBudgetMs;
  if (mode !== "patient") return { cancelled, deadlineAt: due() };
  let deadlineAt = Number.POSITIVE_INFINITY;
  return {
    cancelled,
    get deadlineAt() {
      return deadlineAt;
    },
    onTurn() {
      deadlineAt = Math.min(deadlineAt, due());
    },
  };
}

/** Asks the mail server, unless it is known beforehand that asking cannot tell, or would take a long wait. */
async function probeTarget(
  deps: EngineDeps,
  target: Target,
  first: Exchanger,
  manner: Manner,
): Promise<SmtpEvidence | "busy" | null> {
  const { mode, probe: control } = manner;
  if (deps.shaping.cannotBeBelieved(first.provider, first.site))
    return unasked("provider_unverifiable", "their_server", "provider_habit");
  const doubt = deps.beliefs.habitOf(first.site);
  if (doubt !== null && !deps.beliefs.explores(first.site, target.domain))
    return disbelieved(unasked("provider_unverifiable", "their_server", ""), `belief.${doubt}`);
  const known = withoutAsking(deps, target, first);
  if (known) return known;
  const asked = await probeInLine(deps, target, manner);
  const { outcome, ruling, exchanger } = asked;
  if (outcome.kind === "failure" && outcome.cause === "cancelled") return null;
  if (outcome.kind === "failure" && outcome.cause === "no_slot" && mode !== "single") return "busy";
  if (outcome.kind === "failure" && outcome.cause === "held_back") return heldBack(asked);
  if (outcome.kind === "failure" && outcome.cause === "cut_off") return cutOff(deps, outcome.path);
  const questionMs = questionBudgetMs(mode);
  const { site } = exchanger;
  if (ruling.class === "accepted" || ruling.class === "mailbox_full")
    deps.beliefs.accepted(site, target.domain);
  if (ruling.class !== "accepted") {
    const found = smtpEvidence(deps, target, asked, "not_probed");
    const condemns = found.class === "mailbox_not_found" && found.stage === "rcpt" && found.trusted;
    if (condemns && isUnbelievable(deps, exchanger)) return disbelieved(found, "provider_habit");
    if (!condemns || (await believable(deps, target, site))) return found;
    return disbelieved(found, "belief.refuses_all");
  }
  if (control.cancelled()) return null;
  const budgetMs = Math.min(control.deadlineAt - deps.clock.monotonic(), questionMs);
  const { catchAll, retryAfterS } = await catchAllOf(deps, target, exchanger, budgetMs);
  // A row has time: the answer is worth more once the stranger can be asked too.
  if (catchAll === "not_probed" && mode !== "single") {
    const state = asked.tour.at(exchanger).stateOf(outcome.path);
    if (state === "open") return heldBack(asked);
    if (state === "watched") return strangerBlocked(outcome.host);
  }
  const found = { ...smtpEvidence(deps, target, asked, catchAll), retryAfterS };
  if (isUnbelievable(deps, exchanger)) return disbelieved(found, "provider_habit");
  const habit = deps.beliefs.habitOf(site);
  return habit === "accepts_all" && catchAll !== "refused" ? disbelieved(found, `belief.${habit}`) : found;
}

interface Manner extends Pick<CheckControl, "mode" | "onSite"> {
  probe: ProbeControl;
}

/** Only of a host that is not the first one it is not known before it is asked. */
function isUnbelievable({ shaping }: EngineDeps, { provider, site }: Exchanger): boolean {
  return shaping.cannotBeBelieved(provider, site);
}

/** What a site said, or would have, whose answers tell nothing. */
function disbelieved(found: SmtpEvidence, rule: "provider_habit" | `belief.${Habit}`): SmtpEvidence {
  return { ...found, class: "provider_unverifiable", fault: "their_server", rule };
}

/** It stands in the line of the site that it is asking, or about to ask. */
async function probeInLine(
  deps: EngineDeps,
  target: Target,
  { mode, onSite, probe }: Manner,
): Promise<Asked> {
  let line: string | null = null;
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
  try {
    return await ask(deps, target, { route: target.route, local: target.local, control: probe, turnTo });
  } finally {
    leave();
  }
}

/** Nobody was asked, since the site blocks us; when somebody may be again. */
function heldBack({ outcome: { path, host }, exchanger, tour }: Asked): SmtpEvidence {
  const retryAfterS = Math.max(1, Math.ceil(tour.at(exchanger).retryAfterMs(path) / 1_000));
  return { ...unasked("sender_blocked", "our_address", "breaker_open"), mxHost: host, path, retryAfterS };
}

function strangerBlocked(mxHost: string): SmtpEvidence {
  return { ...unasked("sender_blocked", "our_address", "stranger_blocked"), mxHost };
}

function withoutAsking(
  deps: EngineDeps,
  { address }: Target,
  { site, host }: Exchanger,
): SmtpEvidence | null {
  if (!deps.network.isDown()) return null;
  deps.network.offer(site, host, address);
  return cutOff(deps, "");
}

function cutOff({ network }: EngineDeps, path: string): SmtpEvidence {
  const rule = network.nothingReachedYet() ? "nothing_reached_yet" : "no_site_reachable";
  return { ...unasked("our_network", "our_network", rule), path };
}

function unasked(smtpClass: SmtpEvidence["class"], fault: SmtpEvidence["fault"], rule: string): SmtpEvidence {
  const nothing = { code: 0, enhancedCode: null, reply: "", mxHost: "", path: "", latencyMs: 0, tls: false };
  const rest = { trusted: true, retryAfterS: null, catchAll: "not_probed" } as const;
  return { class: smtpClass, fault, stage: "connect", rule, ...nothing, ...rest };
}

function smtpEvidence(
  deps: EngineDeps,
  target: Target,
  { outcome, ruling }: Asked,
  catchAll: CatchAll,
): SmtpEvidence {
  const reply = outcome.kind === "reply" ? outcome.reply : null;
  return {
    class: ruling.class,
    fault: ruling.fault,
    stage: outcome.stage,
    code: reply?.code ?? 0,
    enhancedCode: reply?.enhanced ?? null,
    reply:
      outcome.kind === "reply"
        ? redactReply(outcome.reply, target.local, deps.self.at(outcome.path))
        : outcome.detail,
    rule: ruling.rule,
    mxHost: outcome.host,
    path: outcome.path,
    trusted: deps.house.trusts(outcome.path),
    retryAfterS: reply ? delayOf(reply, ruling.class) : null,
    latencyMs: Math.round(outcome.latencyMs),
    tls: outcome.tls,
    catchAll,
  };
}

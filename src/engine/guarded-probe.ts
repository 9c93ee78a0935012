import type { Resolver } from "../dns/resolver.ts";
import type { Breaker } from "../egress/breaker/mirror.ts";
import type { SelfIdentities } from "../egress/self-identities.ts";
import type { Shaping } from "../egress/shaping.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { SmtpPool } from "../smtp/pool/pool.ts";
import type { SessionTimes } from "../smtp/session/rcpt-job.ts";
import type { EgressRoutes } from "../smtp/wire/egress-routes.ts";
import { type Mailbox, parseMailbox } from "../smtp/wire/mailbox.ts";
import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import type { Classification } from "../verification/classify/classify.ts";
import { classifyFor } from "../verification/classify/reading.ts";
import type { SmtpClass } from "../verification/evidence.ts";
import type { SiteDirectory } from "../verification/lists/site.ts";
import type { ReplyEvidence } from "../verification/reply-readings.ts";
import type { CheckTrace } from "./check-times.ts";
import type { FastRoute } from "./fast-route.ts";
import type { MxAnswer } from "./mx.ts";
import type { NetworkView } from "./network-view.ts";
import { type Exchanger, type ProbeControl, type ProbeDeps, type ProbeRoute, probeMailbox } from "./probe.ts";
import { ProbeGuards } from "./probe-guards.ts";

/** Dependencies of a probe of the address itself, of a random local part (catch-all probe), or of a postmaster. */
export interface GuardedProbeDeps {
  clock: Clock;
  resolver: Resolver;
  pool: SmtpPool;
  paths: EgressRoutes;
  breaker: Breaker;
  network: NetworkView;
  self: SelfIdentities;
}

/** An address, and the hosts to ask about it. */
export interface ProbeTarget {
  address: string;
  local: string;
  domain: string;
  mx: MxAnswer;
  /** The route, with at least one exchanger. */
  route: ProbeRoute;
}

export interface GuardedProbeOptions {
  route: ProbeRoute;
  /** The local part to ask about, at the target's domain. */
  local: string;
  control: ProbeControl;
  /** See `ProbeDeps.mayQueueAt`; absent: the probe may queue anywhere. */
  mayQueueAt?(exchanger: Exchanger): boolean;
  /** See `probeMailbox`. */
  begun?: RcptOutcome;
  /** See `CheckCaller`: receives every attempt except the first one, if `begun` is given. */
  trace?: CheckTrace | null;
}

export interface ProbeResult {
  outcome: RcptOutcome;
  /** The exchanger of the outcome; the first of the route if none was asked. */
  exchanger: Exchanger;
  ruling: Classification;
  guards: ProbeGuards;
  /** The route of a fast probe. */
  fastRoute?: FastRoute;
  /** The evidence of the outcome's reply, if it is known already. */
  said?: ReplyEvidence | null;
}

const ABOUT_RECIPIENT: ReadonlySet<SmtpClass> = new Set([
  "accepted",
  "mailbox_not_found",
  "mailbox_disabled",
  "mailbox_full",
]);

/** Runs one probe, and reports its end to the breakers, also after an error, since it may be a trial. */
export async function runGuardedProbe(
  deps: GuardedProbeDeps,
  target: Pick<ProbeTarget, "domain">,
  { route, local, control, mayQueueAt: turnTo = () => true, begun, trace = null }: GuardedProbeOptions,
): Promise<ProbeResult> {
  const { domain } = target;
  const address = `${local}@${domain}`;
  const guards = new ProbeGuards(deps.breaker, domain, route.exchangers);
  const rule = (outcome: RcptOutcome) => {
    const context = { provider: guards.exchangerOf(outcome).provider, self: deps.self.at(outcome.path) };
    return classifyFor(outcome, context, address);
  };
  try {
    const mailbox = mailboxOf(address);
    const told = (outcome: RcptOutcome, exchanger: Exchanger) => {
      if (outcome !== begun) trace?.onAttempt(outcome, exchanger);
    };
    const isAboutRecipient = (outcome: RcptOutcome) => ABOUT_RECIPIENT.has(rule(outcome).class);
    const probe = probeDeps(deps, { route, mayQueueAt: turnTo, isAboutRecipient }, guards, told);
    const outcome = await probeMailbox(probe, route, mailbox, new TrialControl(control, guards), begun);
    guards.end(deps, local, rule);
    return { outcome, exchanger: guards.exchangerOf(outcome), ruling: rule(outcome), guards };
  } catch (error) {
    guards.breakOff();
    throw error;
  }
}

/** The hosts of a domain's MX set, each with its site, provider and shaping policy. */
export function exchangersOf(
  { sites, shaping }: { sites: SiteDirectory; shaping: Shaping },
  hosts: readonly string[],
  domain: string,
): Exchanger[] {
  return hosts.map((host) => {
    const { site, provider } = sites.siteOf([host], domain);
    return { host, site, provider, policy: shaping.policyFor(provider, site) };
  });
}

/** A trial keeps all others waiting, and may take no longer than they wait for it. */
class TrialControl implements ProbeControl {
  readonly urgent: boolean;
  readonly isInteractive: boolean;
  readonly #control: ProbeControl;
  readonly #guards: ProbeGuards;

  constructor(control: ProbeControl, guards: ProbeGuards) {
    this.#control = control;
    this.#guards = guards;
    this.urgent = control.urgent === true;
    this.isInteractive = control.isInteractive === true;
  }

  cancelled(): boolean {
    return this.#control.cancelled();
  }

  get deadlineAt(): number {
    return Math.min(this.#control.deadlineAt, this.#guards.trialUntil);
  }

  onTaken(now: number, session?: SessionTimes): void {
    this.#control.onTaken?.(now, session);
  }
}

/** The mailbox of an address that `parseAddress` accepted. Any other text is our fault, and nothing is sent. */
export function mailboxOf(address: string): Mailbox {
  const box = parseMailbox(address);
  if (box === null) throw new Error("an address that was not parsed reached the engine");
  return box;
}

function probeDeps(
  deps: GuardedProbeDeps,
  {
    route: { published },
    ...rest
  }: Pick<ProbeDeps, "mayQueueAt" | "isAboutRecipient"> & Pick<GuardedProbeOptions, "route">,
  guards: ProbeGuards,
  told: ProbeDeps["onAttempt"],
): ProbeDeps {
  return {
    resolver: deps.resolver,
    pool: deps.pool,
    paths: deps.paths,
    ...rest,
    mayProbe: (exchanger, path) => guards.at(exchanger).mayProbe(path.name),
    monotonic: () => deps.clock.monotonic(),
    isCutOff: (path) => deps.network.isCutOff(path.name),
    onAttempt(outcome, exchanger) {
      const { site, provider } = exchanger;
      told(outcome, exchanger);
      guards.attempted(outcome);
      deps.network.onAttempt({ site, provider, published }, outcome);
    },
  };
}

/** The probe was not made, or we were blocked: this says nothing about random local parts. */
export function wasNotAsked(outcome: RcptOutcome, ruling: Classification): boolean {
  if (ruling.class === "sender_blocked" || ruling.class === "our_network") return true;
  return outcome.kind === "failure" && (outcome.cause === "cancelled" || outcome.cause === "no_slot");
}

import type { Clock } from "../core/clock.ts";
import type { Resolver } from "../dns/resolver.ts";
import { type Mailbox, parseMailbox } from "../smtp/mailbox.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import type { Paths } from "../smtp/path.ts";
import type { SmtpPool } from "../smtp/pool.ts";
import type { Breaker, Visit } from "./breaker/mirror.ts";
import { probeEnd } from "./breaker/probe-end.ts";
import { type Classification, classify, redactReply } from "./classify/classify.ts";
import type { Identities } from "./identity.ts";
import type { MxAnswer } from "./mx.ts";
import type { NetworkView } from "./network-view.ts";
import { type ProbeControl, type ProbeDeps, type ProbeRoute, probeMailbox } from "./probe.ts";

/** What it takes to ask a server about somebody: the address itself, a stranger, or a postmaster. */
export interface AskDeps {
  clock: Clock;
  resolver: Resolver;
  pool: SmtpPool;
  paths: Paths;
  breaker: Breaker;
  network: NetworkView;
  self: Identities;
}

/** An address, and where it is asked about. */
export interface Target {
  address: string;
  local: string;
  domain: string;
  mx: MxAnswer;
  provider: string | null;
  route: ProbeRoute;
}

export interface Asking {
  route: ProbeRoute;
  /** Of whom it is asked about, at the target's domain. */
  local: string;
  control: ProbeControl;
  visit: Visit;
}

export interface Asked {
  outcome: RcptOutcome;
  ruling: Classification;
}

/** One probe, with what its end tells the breakers: also when it throws, since it may be a trial. */
export async function ask(deps: AskDeps, target: Target, { route, local, control, visit }: Asking) {
  const { provider, domain } = target;
  try {
    const outcome = await probeMailbox(
      probeDeps(deps, target, visit),
      route,
      mailboxOf(`${local}@${domain}`),
      withinTrial(control, visit),
    );
    const self = deps.self.at(outcome.path);
    const ruling = classify(outcome, { provider, self });
    const redacted = () => (outcome.kind === "reply" ? redactReply(outcome.reply, local, self) : "");
    visit.end(probeEnd(outcome, ruling, deps.network.isCutOff(outcome.path), redacted));
    return { outcome, ruling } satisfies Asked;
  } catch (error) {
    visit.end({ kind: "ours" });
    throw error;
  }
}

export function visitOf(deps: AskDeps, { route, provider, domain }: Target): Visit {
  return deps.breaker.visit({ site: route.site, provider, domain });
}

/** A trial keeps all others waiting, and may take no longer than they wait for it. */
function withinTrial(control: ProbeControl, visit: Visit): ProbeControl {
  return {
    cancelled: () => control.cancelled(),
    get deadlineAt() {
      return Math.min(control.deadlineAt, visit.trialUntil);
    },
    urgent: control.urgent === true,
    onTurn: () => control.onTurn?.(),
  };
}

/** What `parseAddress` lets pass may stand in a command; anything else here is a fault of ours, and nothing is sent. */
function mailboxOf(address: string): Mailbox {
  const box = parseMailbox(address);
  if (box === null) throw new Error("an address that was not parsed reached the engine");
  return box;
}

function probeDeps(deps: AskDeps, target: Target, visit: Visit): ProbeDeps {
  return {
    resolver: deps.resolver,
    pool: deps.pool,
    paths: deps.paths,
    mayGo: (path) => visit.mayGo(path.name),
    monotonic: () => deps.clock.monotonic(),
    isCutOff: (path) => deps.network.isCutOff(path.name),
    onAttempt: (outcome) => deps.network.attempted(attemptOf(target), outcome),
  };
}

function attemptOf({ provider, route: { site, published } }: Target) {
  return { site, provider, published };
}

/** It was not asked, or whoever asked was blocked: that tells nothing of strangers. */
export function isUnput(outcome: RcptOutcome, ruling: Classification): boolean {
  if (ruling.class === "sender_blocked" || ruling.class === "our_network") return true;
  return outcome.kind === "failure" && (outcome.cause === "cancelled" || outcome.cause === "no_slot");
}

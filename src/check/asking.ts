import type { Clock } from "../core/clock.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { SessionTimes } from "../smtp/job.ts";
import { type Mailbox, parseMailbox } from "../smtp/mailbox.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import type { Paths } from "../smtp/path.ts";
import type { SmtpPool } from "../smtp/pool.ts";
import type { Breaker } from "./breaker/mirror.ts";
import type { CheckTrace } from "./check-times.ts";
import type { Classification } from "./classify/classify.ts";
import { classifyAbout } from "./classify/reading.ts";
import type { SmtpClass } from "./evidence.ts";
import type { Said } from "./heard.ts";
import type { Identities } from "./identity.ts";
import type { MxAnswer } from "./mx.ts";
import type { NetworkView } from "./network-view.ts";
import { type Exchanger, type ProbeControl, type ProbeDeps, type ProbeRoute, probeMailbox } from "./probe.ts";
import type { Shaping } from "./shaping.ts";
import type { SiteDirectory } from "./site.ts";
import { Tour } from "./tour.ts";
import type { UsualWay } from "./usual-way.ts";

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
  /** At least one exchanger. */
  route: ProbeRoute;
}

export interface Asking {
  route: ProbeRoute;
  /** Of whom it is asked about, at the target's domain. */
  local: string;
  control: ProbeControl;
  /** As `ProbeDeps.turnTo`; absent: it goes wherever it has to. */
  turnTo?(exchanger: Exchanger): boolean;
  /** As of `probeMailbox`. */
  begun?: RcptOutcome;
  /** As of `CheckCaller`: told of every attempt, but the one that was begun. */
  trace?: CheckTrace | null;
}

export interface Asked {
  outcome: RcptOutcome;
  /** Whose outcome it is; the first of the route where nobody was asked. */
  exchanger: Exchanger;
  ruling: Classification;
  tour: Tour;
  /** The way of a probe that went the usual one. */
  way?: UsualWay;
  /** What evidence keeps of the outcome, where that is at hand. */
  said?: Said | null;
}

const ABOUT_RECIPIENT: ReadonlySet<SmtpClass> = new Set([
  "accepted",
  "mailbox_not_found",
  "mailbox_disabled",
  "mailbox_full",
]);

/** One probe, with what its end tells the breakers: also when it throws, since it may be a trial. */
export async function ask(
  deps: AskDeps,
  target: Pick<Target, "domain">,
  { route, local, control, turnTo = () => true, begun, trace = null }: Asking,
): Promise<Asked> {
  const { domain } = target;
  const address = `${local}@${domain}`;
  const tour = new Tour(deps.breaker, domain, route.exchangers);
  const rule = (outcome: RcptOutcome) => {
    const context = { provider: tour.exchangerOf(outcome).provider, self: deps.self.at(outcome.path) };
    return classifyAbout(outcome, context, address);
  };
  try {
    const mailbox = mailboxOf(address);
    const told = (outcome: RcptOutcome, exchanger: Exchanger) => {
      if (outcome !== begun) trace?.attempted(outcome, exchanger);
    };
    const isAboutRecipient = (outcome: RcptOutcome) => ABOUT_RECIPIENT.has(rule(outcome).class);
    const probe = probeDeps(deps, { route, turnTo, isAboutRecipient }, tour, told);
    const outcome = await probeMailbox(probe, route, mailbox, new WithinTrial(control, tour), begun);
    tour.end(deps, local, rule);
    return { outcome, exchanger: tour.exchangerOf(outcome), ruling: rule(outcome), tour };
  } catch (error) {
    tour.breakOff();
    throw error;
  }
}

/** The hosts of a domain's MX set, each with who runs it and how he is treated. */
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
class WithinTrial implements ProbeControl {
  readonly urgent: boolean;
  readonly hurried: boolean;
  readonly #control: ProbeControl;
  readonly #tour: Tour;

  constructor(control: ProbeControl, tour: Tour) {
    this.#control = control;
    this.#tour = tour;
    this.urgent = control.urgent === true;
    this.hurried = control.hurried === true;
  }

  cancelled(): boolean {
    return this.#control.cancelled();
  }

  get deadlineAt(): number {
    return Math.min(this.#control.deadlineAt, this.#tour.trialUntil);
  }

  onTurn(now: number, session?: SessionTimes): void {
    this.#control.onTurn?.(now, session);
  }
}

/** What `parseAddress` lets pass may stand in a command; anything else here is a fault of ours, and nothing is sent. */
export function mailboxOf(address: string): Mailbox {
  const box = parseMailbox(address);
  if (box === null) throw new Error("an address that was not parsed reached the engine");
  return box;
}

function probeDeps(
  deps: AskDeps,
  { route: { published }, ...rest }: Pick<ProbeDeps, "turnTo" | "isAboutRecipient"> & Pick<Asking, "route">,
  tour: Tour,
  told: ProbeDeps["onAttempt"],
): ProbeDeps {
  return {
    resolver: deps.resolver,
    pool: deps.pool,
    paths: deps.paths,
    ...rest,
    mayGo: (exchanger, path) => tour.at(exchanger).mayGo(path.name),
    monotonic: () => deps.clock.monotonic(),
    isCutOff: (path) => deps.network.isCutOff(path.name),
    onAttempt(outcome, exchanger) {
      const { site, provider } = exchanger;
      told(outcome, exchanger);
      tour.attempted(outcome);
      deps.network.attempted({ site, provider, published }, outcome);
    },
  };
}

/** It was not asked, or whoever asked was blocked: that tells nothing of strangers. */
export function isUnput(outcome: RcptOutcome, ruling: Classification): boolean {
  if (ruling.class === "sender_blocked" || ruling.class === "our_network") return true;
  return outcome.kind === "failure" && (outcome.cause === "cancelled" || outcome.cause === "no_slot");
}

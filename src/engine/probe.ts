import { LIMITS } from "../config/limits/limits.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { SmtpPool } from "../smtp/pool/pool.ts";
import type { RcptJobOptions, SessionTimes } from "../smtp/session/rcpt-job.ts";
import type { EgressRoute, EgressRoutes } from "../smtp/wire/egress-routes.ts";
import type { Mailbox } from "../smtp/wire/mailbox.ts";
import type { FailureCause, RcptOutcome, Stage } from "../smtp/wire/outcome.ts";
import type { SitePolicy } from "../smtp/wire/policy.ts";
import type { Site } from "../verification/lists/site.ts";
import { addressesInOrder } from "./mx.ts";

/**
 * A mail exchanger and its site. A domain may list hosts of a provider beside its own, whose faults must not count against
 * the provider. So caps, breakers and learned behaviour are those of the host that is asked, never of the whole set.
 */
export interface Exchanger extends Site {
  host: string;
  policy: SitePolicy;
}

/** The hosts that a domain's probes may ask: its own MX set, most preferred first. */
export interface ProbeRoute {
  exchangers: Exchanger[];
  /** False: the domain has no MX record, its exchanger is the domain itself. */
  published: boolean;
}

/** `deadlineAt`: `Clock.monotonic` milliseconds after which nothing new is tried. */
export type ProbeControl = RcptJobOptions;

export interface ProbeDeps {
  resolver: Resolver;
  pool: Pick<SmtpPool, "rcpt">;
  paths: EgressRoutes;
  /** Called with the next exchanger. False: too many wait there already, and the outcome is `no_slot`. */
  mayQueueAt(exchanger: Exchanger): boolean;
  /** False: the site must not be asked over this route now; if no other host is left, the outcome is `held_back`. */
  mayProbe(exchanger: Exchanger, path: EgressRoute): boolean | Promise<boolean>;
  /** The route is down: the outcome is `cut_off`, also of a job that waits in a dial. */
  isCutOff(path: EgressRoute): boolean;
  monotonic(): number;
  /** True for a reply about the recipient: accepted, or refused because of the mailbox. */
  isAboutRecipient(outcome: RcptOutcome): boolean;
  /** Called with every attempt, also with those after which the next host is tried. */
  onAttempt(outcome: RcptOutcome, exchanger: Exchanger): void;
}

const STAGE_ORDER: Record<Stage, number> = {
  dns: 0,
  connect: 1,
  greeting: 2,
  ehlo: 3,
  starttls: 4,
  mail: 5,
  rcpt: 6,
};

/**
 * Probes one mailbox as a mail server delivers, by preference (RFC 5321 §5.1). If one could not be reached, broke off the
 * dialogue, or gave a temporary reply, the next address, then the next exchanger, is tried. Bounded by
 * `LIMITS.smtp.hostsTried` hosts, `addressesTriedPerHost`, and `attemptsPerProbe` in all. Without an answer, the outcome
 * that got furthest counts, the first of equals. So a retry meets greylisting at the same host.
 * @param begun the outcome of the first attempt, at the best host, if it was already made
 */
export async function probeMailbox(
  deps: ProbeDeps,
  route: ProbeRoute,
  mailbox: Mailbox,
  control: ProbeControl,
  begun: RcptOutcome | null = null,
): Promise<RcptOutcome> {
  return new ProbeRun(deps, route, mailbox, control, begun).run();
}

/** `skip`: the host was not asked, or another one may know better. */
type Step = RcptOutcome | "skip";

class ProbeRun {
  readonly #deps: ProbeDeps;
  readonly #route: ProbeRoute;
  readonly #mailbox: Mailbox;
  readonly #control: ProbeControl;
  readonly #firstOutcome: RcptOutcome | null;
  #furthest: RcptOutcome | null = null;
  /** Why the first of those was not asked that may not be now. */
  #heldBack: RcptOutcome | null = null;
  #attempts = 0;
  /** Time of the first reply; null: none yet. */
  #repliedAt: number | null = null;

  constructor(
    deps: ProbeDeps,
    route: ProbeRoute,
    mailbox: Mailbox,
    control: ProbeControl,
    begun: RcptOutcome | null,
  ) {
    this.#deps = deps;
    this.#route = route;
    this.#mailbox = mailbox;
    this.#control = control;
    this.#firstOutcome = begun;
  }

  async run(): Promise<RcptOutcome> {
    const [best] = this.#route.exchangers;
    if (this.#firstOutcome !== null && best !== undefined) {
      this.#report(this.#firstOutcome, best);
      const end = this.#conclude(this.#firstOutcome);
      if (end !== "skip") return end;
    }
    for (const exchanger of this.#route.exchangers.slice(0, LIMITS.smtp.hostsTried)) {
      if (!this.#hasTime()) break;
      if (this.#isOneService(exchanger)) continue;
      const end = await this.#askHost(exchanger);
      if (end !== "skip") return end;
    }
    // A reply of a server counts more than a host that was not asked.
    if (this.#furthest !== null && hasMailReply(this.#furthest)) return this.#furthest;
    const none = unreached("", "timeout", "no mail exchanger could be tried in time");
    return this.#heldBack ?? this.#furthest ?? none;
  }

  #hasTime(): boolean {
    const { attemptsPerProbe } = LIMITS.smtp;
    return this.#attempts < attemptsPerProbe && this.#deps.monotonic() < this.#deadlineAt();
  }

  /** A reply is an answer to a request: silent exchangers must not hold it back until the request's own deadline. */
  #deadlineAt(): number {
    const { deadlineAt, isInteractive: hurried } = this.#control;
    if (this.#repliedAt === null || hurried !== true) return deadlineAt;
    return Math.min(deadlineAt, this.#repliedAt + LIMITS.smtp.interactiveFailOverMs);
  }

  /** The exchangers of a named provider are one service: a deferral at one holds for all. */
  #isOneService({ provider }: Exchanger): boolean {
    const heard = this.#furthest;
    if (provider === null || heard === null || !hasMailReply(heard)) return false;
    return this.#route.exchangers.some((one) => one.host === heard.host && one.provider === provider);
  }

  async #askHost(exchanger: Exchanger): Promise<Step> {
    const { host } = exchanger;
    const [best] = this.#route.exchangers;
    const dialled = new Set(
      exchanger === best && this.#firstOutcome !== null ? addressesOf(this.#firstOutcome) : [],
    );
    let known = false;
    for await (const address of addressesInOrder(this.#deps.resolver, host)) {
      if (!known && !this.#deps.mayQueueAt(exchanger)) return this.#queueFull(host);
      known = true;
      if (dialled.delete(address)) continue;
      if (!this.#hasTime() || this.#isOneService(exchanger)) return "skip";
      const end = await this.#askAddress(exchanger, address, dialled);
      if (end !== "skip") return end;
    }
    if (!known) this.#note(unreached(host, "no_address", "no address of the host is known"));
    return "skip";
  }

  /** A reply of another host is kept: the address is asked again later anyway. */
  #queueFull(host: string): Step {
    if (this.#furthest !== null && hasMailReply(this.#furthest)) return "skip";
    return unreached(host, "no_slot", "too many wait for this site");
  }

  /**
   * @param dialled addresses of the host that come later in the order and have been dialled all the same, since an earlier one was
   *   slow: it is dialled alone now, or they would answer again in its place
   */
  async #askAddress(exchanger: Exchanger, address: string, dialled: Set<string>): Promise<Step> {
    const { host, site, policy } = exchanger;
    const deps = this.#deps;
    if (this.#control.cancelled()) return unreached(host, "cancelled", "nobody waits for the answer");
    const path = deps.paths.routeTo(site, address, this.#mailbox.address);
    if (path === undefined) {
      this.#note(unreached(host, "unreachable", "no source address of this family"));
      return "skip";
    }
    if (deps.isCutOff(path)) {
      const cutOff = unreached(host, "cut_off", CUT_OFF, path, address);
      this.#heldBack ??= cutOff;
      deps.onAttempt(cutOff, exchanger);
      return "skip";
    }
    const mayGo = deps.mayProbe(exchanger, path);
    if (mayGo !== true && !(await mayGo)) {
      this.#heldBack ??= unreached(host, "held_back", "this site blocks us", path);
      return "skip";
    }
    const { published } = this.#route;
    const cap = deps.paths.capOf(site, path);
    const alone = dialled.size > 0;
    const destination = { site, cap, host, address, path, policy, published, alone };
    const until = new CutOffControl(
      this.#control,
      () => this.#deadlineAt(),
      () => deps.isCutOff(path),
    );
    const ended = await deps.pool.rcpt(destination, this.#mailbox, until);
    const outcome = markCutOff(ended, this.#control, until.wasCutOff);
    const all = addressesOf(outcome);
    this.#attempts += Math.max(1, all.length);
    for (const each of all) if (each !== address) dialled.add(each);
    this.#report(outcome, exchanger);
    return this.#conclude(outcome);
  }

  /** Each address that did not connect is an attempt of its own. */
  #report(outcome: RcptOutcome, exchanger: Exchanger): void {
    this.#deps.onAttempt(outcome, exchanger);
    if (outcome.kind === "reply") return;
    const { tried, ...rest } = outcome;
    for (const each of tried ?? []) this.#deps.onAttempt({ ...rest, ...each }, exchanger);
  }

  /**
   * A temporary reply may still become an answer. So neither a refusal that is not about the recipient nor a failure of our
   * own replaces it. A cancelled probe ends at once.
   */
  #conclude(outcome: RcptOutcome): Step {
    if (mayTryNext(outcome)) {
      this.#note(outcome);
      return "skip";
    }
    const heard = this.#furthest;
    if (heard === null || !hasMailReply(heard)) return outcome;
    if (outcome.kind === "failure") return outcome.cause === "cancelled" ? outcome : "skip";
    return this.#deps.isAboutRecipient(outcome) ? outcome : "skip";
  }

  #note(outcome: RcptOutcome): void {
    this.#furthest = furthestOf(this.#furthest, outcome);
    if (outcome.kind === "reply") this.#repliedAt ??= this.#deps.monotonic();
  }
}

function addressesOf(outcome: RcptOutcome): string[] {
  const tried = outcome.kind === "failure" ? (outcome.tried ?? []) : [];
  return [outcome, ...tried].map(({ address }) => address).filter((address) => address !== "");
}

const CUT_OFF = "nothing leaves from here by this way";

/** The control of the probe, which also cancels it when its route goes down before a session has taken it. */
class CutOffControl implements ProbeControl {
  readonly urgent: boolean;
  readonly isInteractive: boolean;
  wasCutOff = false;
  readonly #control: ProbeControl;
  readonly #deadlineAt: () => number;
  readonly #isCutOff: () => boolean;
  #inSession = false;

  constructor(control: ProbeControl, deadlineAt: () => number, isCutOff: () => boolean) {
    this.#control = control;
    this.#deadlineAt = deadlineAt;
    this.#isCutOff = isCutOff;
    this.urgent = control.urgent === true;
    this.isInteractive = control.isInteractive === true;
  }

  cancelled(): boolean {
    if (!this.#inSession && !this.wasCutOff) this.wasCutOff = this.#isCutOff();
    return this.#control.cancelled() || this.wasCutOff;
  }

  get deadlineAt(): number {
    return this.#deadlineAt();
  }

  onTaken(now: number, session?: SessionTimes): void {
    this.#inSession = true;
    this.#control.onTaken?.(now, session);
  }
}

/** A probe that was given up although its caller waits was cut off, unless all are given up because we close. */
export function markCutOff(
  outcome: RcptOutcome,
  control: Pick<ProbeControl, "cancelled">,
  wasCutOff: boolean,
): RcptOutcome {
  if (outcome.kind !== "failure" || outcome.cause !== "cancelled") return outcome;
  if (control.cancelled() || !wasCutOff) return outcome;
  return { ...outcome, stage: "connect", cause: "cut_off", detail: CUT_OFF };
}

/** The server ended the dialogue, after any replies. */
const BROKEN: ReadonlySet<FailureCause> = new Set(["closed", "timeout", "protocol", "reply_too_long"]);

/** Not the server's doing, and the same at the next one. */
const OUR_FAULT: ReadonlySet<FailureCause> = new Set(["cancelled", "no_slot", "proxy", "cut_off"]);

/**
 * True when another mail exchanger may still give an answer: this one failed before MAIL, broke off, or gave a temporary
 * reply.
 */
export function mayTryNext(outcome: RcptOutcome): boolean {
  if (outcome.kind === "failure" && OUR_FAULT.has(outcome.cause)) return false;
  if (STAGE_ORDER[outcome.stage] < STAGE_ORDER.mail) return true;
  if (outcome.kind === "failure") return BROKEN.has(outcome.cause);
  return outcome.reply.code >= 400 && outcome.reply.code < 500;
}

/** The furthest of two ends; of two that got equally far a reply before a failure, else the first. */
export function furthestOf(known: RcptOutcome | null, next: RcptOutcome): RcptOutcome {
  if (known === null) return next;
  if (STAGE_ORDER[next.stage] > STAGE_ORDER[known.stage]) return next;
  const isReplyFirst = next.stage === known.stage && next.kind === "reply" && known.kind === "failure";
  return isReplyFirst ? next : known;
}

/** True once a mail server has taken our connection. */
export function hasConnected(outcome: RcptOutcome): boolean {
  return STAGE_ORDER[outcome.stage] > STAGE_ORDER.connect;
}

/** True once a server has answered about a sender or a recipient, not only let us in. */
export function hasMailReply(outcome: RcptOutcome): boolean {
  return outcome.kind === "reply" && STAGE_ORDER[outcome.stage] >= STAGE_ORDER.mail;
}

function unreached(
  host: string,
  cause: FailureCause,
  detail: string,
  path?: EgressRoute,
  address = "",
): RcptOutcome {
  const stage: Stage = cause === "no_address" ? "dns" : "connect";
  const nothing = { address, path: path?.name ?? "", tls: false, latencyMs: 0 };
  return { kind: "failure", stage, cause, detail, host, ...nothing };
}

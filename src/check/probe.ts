import { LIMITS } from "../core/limits.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { JobOptions, SessionTimes } from "../smtp/job.ts";
import type { Mailbox } from "../smtp/mailbox.ts";
import type { FailureCause, RcptOutcome, Stage } from "../smtp/outcome.ts";
import type { Path, Paths } from "../smtp/path.ts";
import type { SitePolicy } from "../smtp/policy.ts";
import type { SmtpPool } from "../smtp/pool.ts";
import { hostAddresses } from "./mx.ts";
import type { Site } from "./site.ts";

/**
 * A mail exchanger, and who runs it. Anybody may name a provider's host beside his own: what his own does is no fault of the
 * provider's, so that caps, breakers and beliefs are those of the host that is asked, never of the whole set.
 */
export interface Exchanger extends Site {
  host: string;
  policy: SitePolicy;
}

/** Where a domain's probes go: its own MX set, best first; no other host is ever asked about it. */
export interface ProbeRoute {
  exchangers: Exchanger[];
  /** False: the domain has no MX record, its exchanger is the domain itself. */
  published: boolean;
}

/** `deadlineAt`: `Clock.monotonic` milliseconds after which nothing new is tried. */
export type ProbeControl = JobOptions;

export interface ProbeDeps {
  resolver: Resolver;
  pool: Pick<SmtpPool, "rcpt">;
  paths: Paths;
  /** Told whom it turns to next. False: too many wait there already, and the outcome is `no_slot`. */
  turnTo(exchanger: Exchanger): boolean;
  /** False: nothing may go out to the site by this way now; where no other is left, the outcome is `held_back`. */
  mayGo(exchanger: Exchanger, path: Path): boolean | Promise<boolean>;
  /** Nothing leaves by this way now: the outcome is `cut_off`, also of what already waits in a dial. */
  isCutOff(path: Path): boolean;
  monotonic(): number;
  /** Told of every attempt, also of those after which the next host is tried. */
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
 * Asks about one mailbox at the best MX that will talk, by preference (RFC 5321 §5.1): the next host is tried only
 * when a host could not be reached or turned us away before the recipient was named. Bounded by
 * `LIMITS.smtp.hostsTried` hosts × `addressesTriedPerHost`. When none will talk, the end that got furthest counts.
 * @param begun how its first attempt ended, at the best host, if somebody else has made it
 */
export async function probeMailbox(
  deps: ProbeDeps,
  route: ProbeRoute,
  mailbox: Mailbox,
  control: ProbeControl,
  begun: RcptOutcome | null = null,
): Promise<RcptOutcome> {
  const [best] = route.exchangers;
  if (begun !== null && best !== undefined) deps.onAttempt(begun, best);
  if (begun !== null && !mayTryNext(begun)) return begun;
  let furthest = begun;
  let held: RcptOutcome | null = null;
  for (const exchanger of route.exchangers.slice(0, LIMITS.smtp.hostsTried)) {
    const { host, site, policy } = exchanger;
    if (deps.monotonic() >= control.deadlineAt) break;
    const addresses = await hostAddresses(deps.resolver, host);
    if (addresses.length === 0)
      furthest = further(furthest, unreached(host, "no_address", "no address of the host is known"));
    else if (!deps.turnTo(exchanger)) return unreached(host, "no_slot", "too many wait for this site");
    for (const address of addresses) {
      if (exchanger === best && address === begun?.address) continue;
      if (control.cancelled()) return unreached(host, "cancelled", "nobody waits for the answer");
      if (deps.monotonic() >= control.deadlineAt) break;
      const path = deps.paths.to(site, address, mailbox.address);
      if (path === undefined) {
        furthest = further(furthest, unreached(host, "unreachable", "no source address of this family"));
        continue;
      }
      if (deps.isCutOff(path)) {
        const cutOff = unreached(host, "cut_off", CUT_OFF, path, address);
        held ??= cutOff;
        deps.onAttempt(cutOff, exchanger);
        continue;
      }
      const mayGo = deps.mayGo(exchanger, path);
      if (mayGo !== true && !(await mayGo)) {
        held ??= unreached(host, "held_back", "this site blocks us", path);
        continue;
      }
      const { published } = route;
      const destination = { site, cap: deps.paths.capOf(site, path), host, address, path, policy, published };
      const until = new WithinReach(control, () => deps.isCutOff(path));
      const outcome = reasonOf(await deps.pool.rcpt(destination, mailbox, until), control, until.wasCutOff);
      deps.onAttempt(outcome, exchanger);
      if (!mayTryNext(outcome)) return outcome;
      furthest = further(furthest, outcome);
    }
  }
  return held ?? furthest ?? unreached("", "timeout", "no mail exchanger could be tried in time");
}

const CUT_OFF = "nothing leaves from here by this way";

/** The same, given up also when nothing leaves by the way any more, for as long as no session has taken it up. */
class WithinReach implements ProbeControl {
  readonly urgent: boolean;
  wasCutOff = false;
  readonly #control: ProbeControl;
  readonly #isCutOff: () => boolean;
  #begun = false;

  constructor(control: ProbeControl, isCutOff: () => boolean) {
    this.#control = control;
    this.#isCutOff = isCutOff;
    this.urgent = control.urgent === true;
  }

  cancelled(): boolean {
    if (!this.#begun && !this.wasCutOff) this.wasCutOff = this.#isCutOff();
    return this.#control.cancelled() || this.wasCutOff;
  }

  get deadlineAt(): number {
    return this.#control.deadlineAt;
  }

  onTurn(now: number, session?: SessionTimes): void {
    this.#begun = true;
    this.#control.onTurn?.(now, session);
  }
}

/** Who was given up although somebody waits for him was cut off, unless all are given up, since we close. */
export function reasonOf(outcome: RcptOutcome, control: ProbeControl, wasCutOff: boolean): RcptOutcome {
  if (outcome.kind !== "failure" || outcome.cause !== "cancelled") return outcome;
  if (control.cancelled() || !wasCutOff) return outcome;
  return { ...outcome, stage: "connect", cause: "cut_off", detail: CUT_OFF };
}

/** Not the server's doing, and the same at the next one. */
const OURS: ReadonlySet<FailureCause> = new Set(["cancelled", "no_slot", "proxy", "cut_off"]);

/** True when another mail exchanger may know better: this one never came to hear the recipient. */
export function mayTryNext(outcome: RcptOutcome): boolean {
  if (outcome.kind === "failure" && OURS.has(outcome.cause)) return false;
  return STAGE_ORDER[outcome.stage] < STAGE_ORDER.mail;
}

/** The furthest of two ends; the first of two that got equally far. */
export function further(known: RcptOutcome | null, next: RcptOutcome): RcptOutcome {
  if (known === null) return next;
  return STAGE_ORDER[next.stage] > STAGE_ORDER[known.stage] ? next : known;
}

/** True once a mail server has taken our connection. */
export function wasReached(outcome: RcptOutcome): boolean {
  return STAGE_ORDER[outcome.stage] > STAGE_ORDER.connect;
}

/** True once a server has answered about a sender or a recipient, not only let us in. */
export function wasHeard(outcome: RcptOutcome): boolean {
  return outcome.kind === "reply" && STAGE_ORDER[outcome.stage] >= STAGE_ORDER.mail;
}

function unreached(
  host: string,
  cause: FailureCause,
  detail: string,
  path?: Path,
  address = "",
): RcptOutcome {
  const stage: Stage = cause === "no_address" ? "dns" : "connect";
  const nothing = { address, path: path?.name ?? "", tls: false, latencyMs: 0 };
  return { kind: "failure", stage, cause, detail, host, ...nothing };
}

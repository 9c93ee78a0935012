import { LIMITS } from "../core/limits.ts";
import type { Asker } from "../smtp/job.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import { type Asked, mailboxOf, type Target } from "./asking.ts";
import { classifyAbout } from "./classify/reading.ts";
import { type ConcludeDeps, conclude, type Found } from "./conclude.ts";
import type { UsualWay } from "./domain-plan.ts";
import type { CheckMode } from "./evidence.ts";
import { type Exchanger, mayTryNext, type ProbeControl, reasonOf } from "./probe.ts";
import type { SiteLines } from "./site-lines.ts";
import { Tour } from "./tour.ts";

export interface QuickDeps extends ConcludeDeps {
  lines: SiteLines;
}

/** A check that is to be probed, as `QuickProbe` takes it up. */
export interface QuickCheck extends Target {
  /** The best exchanger, to which the way leads. */
  readonly first: Exchanger;
  readonly mode: CheckMode;
  /** `Clock.monotonic` milliseconds at which it is over; of a patient one infinite, its time begins with its turn. */
  readonly deadlineAt: number;
  cancelled(): boolean;
  /** Goes on in the general way from an attempt that ended unusually; it stands in the line of `first`, and leaves it. */
  goOn(begun: RcptOutcome, probe: ProbeControl): Promise<Found>;
  done(found: Found): void;
  failed(error: unknown): void;
}

/**
 * Whether the way is free of all that makes a probe unusual: doubts about the site, a breaker, a network that is down.
 * Breakers are asked again when the reply is there.
 */
export function isUsual(deps: QuickDeps, { domain, first }: QuickCheck, way: UsualWay): boolean {
  const path = way.destination.path.name;
  if (deps.network.isDown() || deps.network.isCutOff(path)) return false;
  return deps.beliefs.habitOf(first.site) === null && deps.breaker.isCalm(first.site, path, domain);
}

/**
 * One probe of the usual kind: it takes its turn at the best exchanger, is answered about the recipient, and nobody has to
 * hear of it but counters: no promise, no walk over hosts, no visit of a breaker. Whatever else happens is left to the
 * general way, which goes on where this one stands (`probeMailbox`, `begun`); what a reply means is `conclude`'s for both.
 * A property test holds the two to each other (test/unit/check/quick-probe.test.ts).
 */
export class QuickProbe implements Asker {
  readonly #deps: QuickDeps;
  readonly #check: QuickCheck;
  readonly #way: UsualWay;
  #deadlineAt: number;
  #inLine = false;
  #begun = false;
  #cutOff = false;

  constructor(deps: QuickDeps, check: QuickCheck, way: UsualWay) {
    this.#deps = deps;
    this.#check = check;
    this.#way = way;
    this.#deadlineAt = check.deadlineAt;
  }

  /** Enters the line of its site, and asks. */
  begin(): void {
    const { address, first } = this.#check;
    try {
      const mailbox = mailboxOf(address);
      this.#deps.lines.enter(first.site);
      this.#inLine = true;
      this.#deps.pool.ask(this.#way.destination, mailbox, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  get deadlineAt(): number {
    return this.#deadlineAt;
  }

  /** Given up also when nothing leaves by the way any more, for as long as no session has taken it up. */
  cancelled(): boolean {
    if (!this.#begun && !this.#cutOff)
      this.#cutOff = this.#deps.network.isCutOff(this.#way.destination.path.name);
    return this.#cutOff || this.#check.cancelled();
  }

  onTurn(): void {
    this.#begun = true;
    if (this.#check.mode !== "patient") return;
    this.#deadlineAt = Math.min(this.#deadlineAt, this.#deps.clock.monotonic() + LIMITS.smtp.probeBudgetMs);
  }

  settled(outcome: RcptOutcome): void {
    const check = this.#check;
    try {
      const concluded = this.#conclude(outcome);
      const found = concluded === undefined ? this.#goOn(outcome) : concluded;
      if (found instanceof Promise)
        found.then(
          (late) => check.done(late),
          (error: unknown) => check.failed(error),
        );
      else check.done(found);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** undefined: it is unusual. */
  #conclude(outcome: RcptOutcome): Found | Promise<Found> | undefined {
    if (outcome.kind === "failure" || mayTryNext(outcome)) return undefined;
    const { address, domain, first, mode, route } = this.#check;
    const { breaker, network, self } = this.#deps;
    const { site, provider } = first;
    const ruling = classifyAbout(outcome, { provider, self: self.at(outcome.path) }, address);
    if (ruling.class === "sender_blocked" || !breaker.isCalm(site, outcome.path, domain)) return undefined;
    const { published } = this.#way.destination;
    network.attempted({ site, provider, published }, outcome);
    this.#leave();
    const tour = new Tour(breaker, domain, route.exchangers);
    const asked: Asked = { outcome, exchanger: first, ruling, tour };
    return conclude(this.#deps, this.#check, asked, { mode, probe: this });
  }

  #goOn(outcome: RcptOutcome): Promise<Found> {
    const probe = this;
    // The check's own, without what concerns this attempt alone.
    const control: ProbeControl = {
      cancelled: () => probe.#check.cancelled(),
      get deadlineAt() {
        return probe.#deadlineAt;
      },
      onTurn: () => probe.onTurn(),
    };
    this.#inLine = false;
    return this.#check.goOn(reasonOf(outcome, control, this.#cutOff), control);
  }

  #leave(): void {
    if (this.#inLine) this.#deps.lines.leave(this.#check.first.site);
    this.#inLine = false;
  }

  #fail(error: unknown): void {
    this.#leave();
    this.#check.failed(error);
  }
}

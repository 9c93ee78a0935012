import type { Breaker, ProbeGuard } from "../egress/breaker/mirror.ts";
import type { SelfIdentities } from "../egress/self-identities.ts";
import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import { type Classification, redactReply } from "../verification/classify/classify.ts";
import type { NetworkView } from "./network-view.ts";
import { type Exchanger, furthestOf } from "./probe.ts";
import { probeEndOf } from "./probe-end.ts";

interface Stop {
  visit: ProbeGuard;
  /** What got furthest of what was tried there; null: nothing was. */
  furthest: RcptOutcome | null;
}

/** One probe on its way from host to host: to each site that it comes to it is one visit, which ends by what it met there. */
export class Tour {
  readonly #breaker: Breaker;
  readonly #domain: string;
  readonly #exchangers: readonly Exchanger[];
  /** By site; null: it has come to none. */
  #stops: Map<string, Stop> | null = null;

  /** @param exchangers at least one */
  constructor(breaker: Breaker, domain: string, exchangers: readonly Exchanger[]) {
    this.#breaker = breaker;
    this.#domain = domain;
    this.#exchangers = exchangers;
  }

  at(exchanger: Exchanger): ProbeGuard {
    return this.#stopAt(exchanger).visit;
  }

  /** Whose outcome it is; the first one's where nobody was asked. */
  exchangerOf({ host }: RcptOutcome): Exchanger {
    const [first] = this.#exchangers;
    return this.#exchangers.find((exchanger) => exchanger.host === host) ?? (first as Exchanger);
  }

  /** `Clock.monotonic` milliseconds until which the trials that it is have to end; none: infinity. */
  get trialUntil(): number {
    return Math.min(...this.#visited().map(({ visit }) => visit.trialUntil));
  }

  attempted(outcome: RcptOutcome): void {
    const stop = this.#stopAt(this.exchangerOf(outcome));
    stop.furthest = furthestOf(stop.furthest, outcome);
  }

  /** Tells the breaker of each site what was met there. */
  end(
    { network, self }: { network: NetworkView; self: SelfIdentities },
    local: string,
    rule: (outcome: RcptOutcome) => Classification,
  ): void {
    for (const { visit, furthest } of this.#visited()) {
      if (furthest === null) {
        visit.end({ kind: "ours" });
        continue;
      }
      const redacted = () =>
        furthest.kind === "reply" ? redactReply(furthest.reply, local, self.at(furthest.path)) : "";
      visit.end(probeEndOf(furthest, rule(furthest), network.isCutOff(furthest.path), redacted));
    }
  }

  /** It broke: nothing is known of any site. */
  breakOff(): void {
    for (const { visit } of this.#visited()) visit.end({ kind: "ours" });
  }

  #visited(): Stop[] {
    return [...(this.#stops?.values() ?? [])];
  }

  #stopAt({ site, provider }: Exchanger): Stop {
    this.#stops ??= new Map();
    const known = this.#stops.get(site);
    if (known !== undefined) return known;
    const visit = this.#breaker.guard({ site, provider, domain: this.#domain });
    const stop: Stop = { visit, furthest: null };
    this.#stops.set(site, stop);
    return stop;
  }
}

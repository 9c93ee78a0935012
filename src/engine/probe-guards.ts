import type { Breaker, ProbeGuard } from "../egress/breaker/mirror.ts";
import type { SelfIdentities } from "../egress/self-identities.ts";
import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import { type Classification, redactReply } from "../verification/classify/classify.ts";
import type { NetworkView } from "./network-view.ts";
import { type Exchanger, furthestOf } from "./probe.ts";
import { probeEndOf } from "./probe-end.ts";

interface SiteAttempts {
  guard: ProbeGuard;
  /** The outcome that got furthest at the site; null: no attempt was made. */
  furthest: RcptOutcome | null;
}

/**
 * The breaker guards of one probe: one for each site that it reaches from host to host. Each ends with the outcome that got
 * furthest at its site.
 */
export class ProbeGuards {
  readonly #breaker: Breaker;
  readonly #domain: string;
  readonly #exchangers: readonly Exchanger[];
  /** By site; null: the probe has reached no site. */
  #sites: Map<string, SiteAttempts> | null = null;

  /** @param exchangers at least one */
  constructor(breaker: Breaker, domain: string, exchangers: readonly Exchanger[]) {
    this.#breaker = breaker;
    this.#domain = domain;
    this.#exchangers = exchangers;
  }

  at(exchanger: Exchanger): ProbeGuard {
    return this.#attemptsAt(exchanger).guard;
  }

  /** The exchanger of the outcome; the first one if none was asked. */
  exchangerOf({ host }: RcptOutcome): Exchanger {
    const [first] = this.#exchangers;
    return this.#exchangers.find((exchanger) => exchanger.host === host) ?? (first as Exchanger);
  }

  /** `Clock.monotonic` milliseconds by which the trials of this probe must end; infinity: it has none. */
  get trialUntil(): number {
    return Math.min(...this.#visited().map(({ guard }) => guard.trialUntil));
  }

  attempted(outcome: RcptOutcome): void {
    const attempts = this.#attemptsAt(this.exchangerOf(outcome));
    attempts.furthest = furthestOf(attempts.furthest, outcome);
  }

  /** Reports the result at each site to the site's breaker. */
  end(
    { network, self }: { network: NetworkView; self: SelfIdentities },
    local: string,
    rule: (outcome: RcptOutcome) => Classification,
  ): void {
    for (const { guard, furthest } of this.#visited()) {
      if (furthest === null) {
        guard.end({ kind: "ours" });
        continue;
      }
      const redacted = () =>
        furthest.kind === "reply" ? redactReply(furthest.reply, local, self.at(furthest.path)) : "";
      guard.end(probeEndOf(furthest, rule(furthest), network.isCutOff(furthest.path), redacted));
    }
  }

  /** The probe threw: nothing is known of any site. */
  breakOff(): void {
    for (const { guard } of this.#visited()) guard.end({ kind: "ours" });
  }

  #visited(): SiteAttempts[] {
    return [...(this.#sites?.values() ?? [])];
  }

  #attemptsAt({ site, provider }: Exchanger): SiteAttempts {
    this.#sites ??= new Map();
    const known = this.#sites.get(site);
    if (known !== undefined) return known;
    const guard = this.#breaker.guard({ site, provider, domain: this.#domain });
    const attempts: SiteAttempts = { guard, furthest: null };
    this.#sites.set(site, attempts);
    return attempts;
  }
}

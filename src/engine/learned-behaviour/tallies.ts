import { getDomain } from "tldts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { PostmasterAnswer, RefusalRuling, RefusedAddress } from "./messages.ts";

/** The registrable domain: subdomains of a zone are one customer, however many there are. */
export function registrantOf(domain: string): string {
  return getDomain(domain) ?? domain;
}

/** Drops the oldest entries: those that are too old, and those beyond the maximum. */
function trim<T extends { atMs: number }>(kept: Map<string, T>, most: number, sinceMs: number): void {
  for (const [oldest, { atMs }] of kept) {
    if (kept.size <= most && atMs >= sinceMs) break;
    kept.delete(oldest);
  }
}

/** Refusals in a row at a site, and the postmasters that were asked about them. Bounded by LIMITS.learnedBehaviour. */
export class RefusalRun {
  readonly #addresses = new Map<string, { atMs: number }>();
  /** By registrant: the latest of a registrant's domains represents all of them. */
  readonly #domains = new Map<string, { domain: string; atMs: number }>();
  /** Domains whose postmasters are still to be asked; null: the control has not started. */
  #controls: string[] | null = null;
  #refusedControls = 0;
  /** Refusals that wait for the control in progress; null: no control is. */
  waiting: ((say: RefusalRuling) => void)[] | null = null;
  /** An address was accepted during the control. */
  acceptedMeanwhile = false;
  /** `Clock.monotonic` before which no postmaster is asked. */
  pausedUntil = Number.NEGATIVE_INFINITY;

  add(sightings: readonly RefusedAddress[], nowMs: number): void {
    const { addressesKept, domainsKept, runMs } = LIMITS.learnedBehaviour;
    for (const { address, domain } of sightings) {
      const registrant = registrantOf(domain);
      this.#addresses.delete(address);
      this.#addresses.set(address, { atMs: nowMs });
      this.#domains.delete(registrant);
      this.#domains.set(registrant, { domain, atMs: nowMs });
    }
    trim(this.#addresses, addressesKept, nowMs - runMs);
    trim(this.#domains, domainsKept, nowMs - runMs);
  }

  /** Too many to be chance; that they are all unknown is still likelier than that every address is refused. */
  get isSuspicious(): boolean {
    const { addresses, domains } = LIMITS.learnedBehaviour;
    return this.#addresses.size >= addresses && this.#domains.size >= domains;
  }

  get addresses(): number {
    return this.#addresses.size;
  }

  /**
   * The domain whose postmaster is asked next, never two of one registrant; null: enough were asked.
   * @param accepted a domain with a recently accepted address: it comes first, since its postmaster shows whether the site
   *   is honest
   * @param random 0 to 1
   */
  nextControl(accepted: string | null, random: () => number): string | null {
    this.#controls ??= this.#drawn(accepted, random);
    return this.#controls.shift() ?? null;
  }

  #drawn(accepted: string | null, random: () => number): string[] {
    const { controlsTried } = LIMITS.learnedBehaviour;
    const drawn = accepted === null ? [] : [accepted];
    const left = [...this.#domains]
      .filter(([registrant]) => accepted === null || registrant !== registrantOf(accepted))
      .map(([, { domain }]) => domain);
    while (drawn.length < controlsTried && left.length > 0)
      drawn.push(...left.splice(Math.min(left.length - 1, Math.floor(random() * left.length)), 1));
    return drawn;
  }

  /** @returns true: enough postmasters were refused to show that the site refuses every address */
  recordControl(answer: PostmasterAnswer): boolean {
    if (answer === "refused") this.#refusedControls += 1;
    return this.#refusedControls >= LIMITS.learnedBehaviour.controls;
  }

  /** Ends the control without an answer: the next one starts from the beginning. */
  forgetControls(): void {
    this.#controls = null;
    this.#refusedControls = 0;
    this.waiting = null;
  }
}

/**
 * Domains whose catch-all probes were accepted, at a site that refused no probe: the latest
 * LIMITS.learnedBehaviour.catchAllProbesKept.
 */
export class AcceptedProbeTally {
  readonly #accepted = new Map<string, { atMs: number }>();

  accepted(domain: string, nowMs: number): void {
    const { catchAllProbesKept, catchAllProbeKeptMs } = LIMITS.learnedBehaviour;
    const registrant = registrantOf(domain);
    this.#accepted.delete(registrant);
    this.#accepted.set(registrant, { atMs: nowMs });
    trim(this.#accepted, catchAllProbesKept, nowMs - catchAllProbeKeptMs);
  }

  /** Enough registrants. One is never enough, whatever it calls below its domain: that is a catch-all. */
  get acceptsAll(): boolean {
    return this.#accepted.size >= LIMITS.learnedBehaviour.catchAllProbeDomains;
  }

  get domains(): number {
    return this.#accepted.size;
  }
}

import { LIMITS } from "../../core/limits.ts";
import type { Say, Sighting } from "./messages.ts";

/** Refusals in a row at a site, and the postmasters that were asked about them. Bounded by LIMITS.belief. */
export class RefusalRun {
  readonly #addresses = new Set<string>();
  readonly #domains = new Set<string>();
  readonly #refusedControls = new Set<string>();
  /** Whoever waits for the control under way; null: there is none. */
  waiting: ((say: Say) => void)[] | null = null;
  /** Somebody was accepted while it was. */
  acceptedMeanwhile = false;
  /** `Clock.monotonic` before which no postmaster is asked. */
  restsUntil = Number.NEGATIVE_INFINITY;

  add(sightings: readonly Sighting[]): void {
    for (const { address, domain } of sightings) {
      if (this.#addresses.size < LIMITS.belief.addressesOfFew) this.#addresses.add(address);
      if (this.#domains.size < LIMITS.belief.domains) this.#domains.add(domain);
    }
  }

  /** Too many to be chance; that they are all unknown is still likelier than that everybody is refused. */
  get isSuspicious(): boolean {
    const { addresses, addressesOfFew } = LIMITS.belief;
    const { size } = this.#addresses;
    return size >= addressesOfFew || (size >= addresses && this.#isOfMany);
  }

  get addresses(): number {
    return this.#addresses.size;
  }

  /** The domain whose postmaster is to be asked next; null: enough were. */
  nextControl(): string | null {
    const wanted = this.#isOfMany ? LIMITS.belief.controls : 1;
    if (this.#refusedControls.size >= wanted) return null;
    return [...this.#domains].find((domain) => !this.#refusedControls.has(domain)) ?? null;
  }

  refusedControl(domain: string): void {
    this.#refusedControls.add(domain);
  }

  get #isOfMany(): boolean {
    return this.#domains.size >= LIMITS.belief.domains;
  }
}

/** What strangers were answered with at a site, by domain, the latest LIMITS.belief.strangersKept. */
export class StrangerTally {
  readonly #answers = new Map<string, { accepted: boolean; atMs: number }>();

  add(domain: string, accepted: boolean, nowMs: number): void {
    this.#answers.delete(domain);
    this.#answers.set(domain, { accepted, atMs: nowMs });
    for (const [oldest, { atMs }] of this.#answers) {
      const { strangersKept, strangerKeptMs } = LIMITS.belief;
      if (this.#answers.size <= strangersKept && nowMs - atMs <= strangerKeptMs) break;
      this.#answers.delete(oldest);
    }
  }

  /** Enough domains, nearly all of which accept whoever comes. One domain is never enough: that is a catch-all. */
  get acceptsAll(): boolean {
    const { strangerDomains, strangerShare } = LIMITS.belief;
    const { size } = this.#answers;
    const accepted = [...this.#answers.values()].filter((answer) => answer.accepted).length;
    return size >= strangerDomains && accepted / size >= strangerShare;
  }

  get domains(): number {
    return this.#answers.size;
  }
}

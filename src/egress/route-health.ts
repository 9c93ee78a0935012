import { LIMITS } from "../config/limits/limits.ts";
import type { Clock, Timer } from "../platform/time/clock.ts";

/**
 * Distinguishes "that server does not answer" from "nothing leaves from here" (port 25 closed by the provider, no route, a
 * dead proxy), for one egress route.
 *
 * Suspicion: a dial was silent for `LIMITS.network.silentMs`, and no mail server accepted a connection since it began. Or
 * dials failed to several sites, which add up to `suspicion`. Then *sentinels* are dialled at once: addresses of other
 * sites that accepted a connection last, and the exchangers of the biggest providers. If one accepts the connection, the
 * network is up. If all fail, and they were of two sites at least, the route is down.
 *
 * If so many are not known, several suspects suffice. Their own addresses are dialled too, so that a slow process does not
 * look like an outage. So no single site can be taken for the network, however many addresses it has.
 *
 * While the route is down this process dials, every `trialEveryMs`, some of the addresses reported to it, until one accepts
 * the connection. The first time is at once; no request is spent on that. If that takes longer than sentinels are given,
 * the network is slow, and sentinels get the longer time from then on. They also get it while no server was ever reached,
 * since the speed of the network is not known yet.
 */
export interface RouteHealth {
  onSilent(dial: SilentDial): void;
  onFailed(site: string, address: string): void;
  /** An address that took a connection; reported now and then, not each time. */
  onReached(site: string, address: string): void;
  /** An address that would have been dialled had the route not been down: a candidate to try. */
  addCandidate(address: string): void;
  /** Exchangers of the biggest providers: sentinels from now on. */
  setSentinels(exchangers: readonly Sentinel[]): void;
  /**
   * Another process found that nothing leaves by this route: the sentinels are dialled, unless a server was reached just
   * now.
   */
  checkSoon(): void;
  readonly isDown: boolean;
  stop(): void;
}

export interface SilentDial {
  site: string;
  address: string;
  /** Wall time at which it began. */
  beganMs: number;
}

export interface Sentinel {
  site: string;
  address: string;
}

export interface RouteHealthDeps {
  clock: Clock;
  /** Wall time at which a mail server last accepted a connection over this route, in any thread; 0: not yet. */
  lastReachedMs(): number;
  noteReached(epochMs: number): void;
  /** True when `address` accepts a connection over this route within `withinMs`. Never rejects. */
  dial(address: string, withinMs: number): Promise<boolean>;
  onChange(down: boolean): void;
}

interface Suspect {
  atMs: number;
  weight: number;
}

/** Providers whose mail exchangers are always up and serve no other site: if they are silent, the fault is ours. */
export const ALWAYS_UP: ReadonlySet<string> = new Set([
  "google",
  "outlook",
  "microsoft365",
  "yahoo",
  "apple",
]);

const { network: limits } = LIMITS;

function remember<T>(known: Map<string, T>, key: string, value: T, most: number): void {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > most && oldest !== undefined) known.delete(oldest);
}

class RouteWatch implements RouteHealth {
  readonly #deps: RouteHealthDeps;
  /** By site: time and weight of the last failed dial. */
  readonly #suspects = new Map<string, Suspect>();
  /** Site of each address that accepted a connection lately. */
  readonly #lastReached = new Map<string, string>();
  readonly #candidates = new Map<string, null>();
  #exchangers: readonly Sentinel[] = [];
  #confirming = false;
  /** Something came up while sentinels were being asked, or too soon after they were. */
  #again = false;
  #coolMs = 0;
  #slow = false;
  #stopped = false;
  #downSinceMs = 0;
  #cooling: Timer | null = null;
  #trial: Timer | null = null;
  isDown = false;

  constructor(deps: RouteHealthDeps) {
    this.#deps = deps;
  }

  onSilent({ site, address, beganMs }: SilentDial): void {
    remember(this.#candidates, address, null, limits.sitesRemembered);
    if (this.#deps.lastReachedMs() >= beganMs) return;
    this.#suspect(site, beganMs);
    this.#checkUnlessCooling();
  }

  onFailed(site: string, address: string): void {
    remember(this.#candidates, address, null, limits.sitesRemembered);
    this.#suspect(site, this.#deps.clock.now());
    if (this.#weight() >= limits.suspicion) this.#checkUnlessCooling();
  }

  onReached(site: string, address: string): void {
    remember(this.#lastReached, address, site, limits.reachedRemembered);
  }

  addCandidate(address: string): void {
    if (this.isDown) remember(this.#candidates, address, null, limits.sitesRemembered);
  }

  setSentinels(exchangers: readonly Sentinel[]): void {
    this.#exchangers = exchangers.slice(0, limits.sentinels);
  }

  checkSoon(): void {
    if (this.#deps.clock.now() - this.#deps.lastReachedMs() >= limits.reachedEveryMs)
      this.#checkUnlessCooling();
  }

  stop(): void {
    this.#stopped = true;
    this.#cooling?.cancel();
    this.#trial?.cancel();
    this.#trial = null;
  }

  #suspect(site: string, atMs: number): void {
    remember(this.#suspects, site, { atMs, weight: ALWAYS_UP.has(site) ? 2 : 1 }, limits.sitesRemembered);
  }

  /** The summed weight of the suspects since a mail server was last reached. */
  #weight(): number {
    const now = this.#deps.clock.now();
    const since = Math.max(this.#deps.lastReachedMs(), now - limits.windowS * 1_000 - 1);
    let weight = 0;
    for (const [site, suspect] of this.#suspects) {
      if (suspect.atMs > since) weight += suspect.weight;
      else this.#suspects.delete(site);
    }
    return weight;
  }

  #checkUnlessCooling(): void {
    if (this.isDown || this.#stopped) return;
    if (this.#confirming || this.#cooling !== null) {
      this.#again = true;
      return;
    }
    void this.#confirm();
  }

  async #confirm(): Promise<void> {
    this.#confirming = true;
    this.#again = false;
    const { clock } = this.#deps;
    const startedMs = clock.now();
    const started = clock.monotonic();
    const sentinels = this.#sentinels();
    const patient = this.#slow || this.#deps.lastReachedMs() === 0;
    const withinMs = patient ? limits.trialDialMs : limits.sentinelDialMs;
    const proof = new Set(sentinels.map(({ site }) => site)).size >= limits.sentinelSites;
    // With too few sentinels, an outage needs several suspects, all of which must fail this dial too.
    const suspects = proof || this.#weight() < limits.suspicion ? [] : this.#newestCandidates();
    const dials = new Set([...sentinels.map(({ address }) => address), ...suspects]);
    const taken = await this.#anyConnects([...dials], withinMs);
    this.#confirming = false;
    if (this.#stopped || this.isDown) return;
    if (taken) {
      this.#deps.noteReached(clock.now());
      this.#slow = clock.monotonic() - started > limits.sentinelDialMs;
    }
    if (taken || this.#deps.lastReachedMs() >= startedMs) return this.#coolDown();
    if (proof || (suspects.length > 0 && this.#weight() >= limits.suspicion)) return this.#setDown(true);
    if (this.#again) this.#checkUnlessCooling();
  }

  /** Resolves to true as soon as one accepts the connection, or to false when all have failed. */
  async #anyConnects(addresses: readonly string[], withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const dials = addresses.map(async (address) => {
        if (await this.#deps.dial(address, withinMs)) resolve(true);
      });
      void Promise.all(dials).then(() => resolve(false));
    });
  }

  /** A site that is suspected itself cannot prove that the network is up; `#weight` forgets those that no longer are. */
  #sentinels(): Sentinel[] {
    this.#weight();
    const known = [...this.#lastReached].map(([address, site]) => ({ site, address }));
    const all = [...known.toReversed(), ...this.#exchangers].filter(({ site }) => !this.#suspects.has(site));
    const unlike = new Map(all.map((sentinel) => [sentinel.address, sentinel]));
    return [...unlike.values()].slice(0, limits.sentinels);
  }

  /** Their silence proves nothing that is not suspected already; that one of them takes a connection acquits all. */
  #newestCandidates(): string[] {
    return [...this.#candidates.keys()].slice(-limits.sentinels);
  }

  /** After an acquittal others are left in peace for a while, longer each time that no probe got through in between. */
  #coolDown(): void {
    this.#suspects.clear();
    this.#coolMs = Math.min(limits.coolMaxMs, Math.max(limits.coolMs, this.#coolMs * 2));
    const sinceMs = this.#deps.lastReachedMs();
    this.#cooling = this.#deps.clock.after(this.#coolMs, () => {
      this.#cooling = null;
      if (this.#deps.lastReachedMs() > sinceMs) this.#coolMs = 0;
      if (this.#again && this.#weight() > 0) this.#checkUnlessCooling();
    });
  }

  #setDown(down: boolean): void {
    this.isDown = down;
    if (down) {
      this.#downSinceMs = this.#deps.clock.now();
      this.#retryIn(0);
    } else {
      this.#suspects.clear();
      this.#candidates.clear();
      this.#trial = null;
    }
    this.#deps.onChange(down);
  }

  #retryIn(ms: number): void {
    this.#trial = this.#deps.clock.after(ms, () => void this.#retry());
  }

  /** The newest half of the round's dials and the oldest half, so that neither many dead ones nor old ones crowd out. */
  #nextDials(): string[] {
    const exchangers = this.#exchangers.map(({ address }) => address);
    const all = [...this.#lastReached.keys(), ...exchangers, ...this.#candidates.keys()];
    const half = Math.ceil(limits.trialDials / 2);
    return [...new Set([...all.slice(-half), ...all.slice(0, half)])];
  }

  async #retry(): Promise<void> {
    const { clock } = this.#deps;
    const round = this.#nextDials();
    const startedMs = clock.monotonic();
    const taken = await this.#anyConnects(round, limits.trialDialMs);
    if (this.#trial === null) return;
    if (taken && clock.monotonic() - startedMs > limits.sentinelDialMs) this.#slow = true;
    if (taken || this.#deps.lastReachedMs() > this.#downSinceMs) return this.#setDown(false);
    for (const address of round) if (this.#candidates.delete(address)) this.#candidates.set(address, null);
    this.#retryIn(limits.trialEveryMs);
  }
}

export function createRouteHealth(deps: RouteHealthDeps): RouteHealth {
  return new RouteWatch(deps);
}

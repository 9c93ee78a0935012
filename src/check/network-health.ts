import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Board } from "./board.ts";

/**
 * Tells "that server does not answer" from "nothing answers from here" (port 25 closed by the provider, no route).
 *
 * Every failed dial to a site that has MX records is reported. When failures of distinct sites add up to `suspicion`
 * within `windowS`, and no mail server has taken a connection since the first of them, those that last did are dialled
 * once more. When none takes it, our network is down: checks answer `our_network` at once. From then on this process itself dials, every `trialEveryMs`, some of the addresses it
 * was told of, until one takes the connection; no request is spent on that.
 *
 * The biggest providers count double: Google does not go away, so two of those are proof enough.
 */
export interface NetworkHealth extends NetworkReports {
  stop(): void;
}

/** What check threads report. An address is one by the way that its probes take (`trialOf`): it is dialled so again. */
export interface NetworkReports {
  failed(dial: FailedDial): void;
  /** An address that took a connection; told now and then, not each time. */
  reached(address: string): void;
  /** An address that somebody would have dialled had we not been down: to be tried. */
  candidate(address: string): void;
}

export interface FailedDial {
  site: string;
  provider: string | null;
  address: string;
}

export interface NetworkHealthDeps {
  clock: Clock;
  board: Board;
  /** True when `address` takes a connection. Never rejects; ends by itself in bounded time. */
  dial(address: string): Promise<boolean>;
  onChange(down: boolean): void;
}

/** Providers whose mail exchangers are theirs alone and always up: their silence is not theirs. */
const ALWAYS_UP: ReadonlySet<string> = new Set(["google", "outlook", "microsoft365", "yahoo", "apple"]);

/** A proxy that fails lets nothing out. A refusal shows that packets travel, unless it comes in the name of somebody who refuses nobody. */
export function isCutOff(cause: string, provider: string | null): boolean {
  if (cause === "refused") return provider !== null && ALWAYS_UP.has(provider);
  return cause === "timeout" || cause === "unreachable" || cause === "proxy";
}

export function createNetworkHealth(deps: NetworkHealthDeps): NetworkHealth {
  const { clock, board } = deps;
  const { windowS, suspicion, sitesRemembered, reachedRemembered, trialEveryMs, trialDials } = LIMITS.network;
  const failures = new Map<string, { atS: number; weight: number }>();
  const candidates = new Set<string>();
  const lastReached = new Set<string>();
  let confirming = false;
  let stopped = false;
  let downSinceS = 0;
  let timer: Timer | null = null;

  const nowS = () => Math.floor(clock.now() / 1000);

  function remember(addresses: Set<string>, address: string, most: number): void {
    addresses.delete(address);
    addresses.add(address);
    const [oldest] = addresses;
    if (addresses.size > most && oldest !== undefined) addresses.delete(oldest);
  }

  /** Four dead domains prove nothing while somebody else still answers. */
  async function confirm(): Promise<void> {
    confirming = true;
    const reached = await Promise.all([...lastReached].map((address) => deps.dial(address)));
    confirming = false;
    if (stopped || timer !== null) return;
    if (reached.includes(true)) board.noteReached(nowS());
    if (suspects() >= suspicion) become(true);
  }

  function suspects(): number {
    const since = Math.max(board.lastReachedS(), nowS() - windowS);
    let weight = 0;
    for (const [site, failure] of failures) {
      if (failure.atS > since) weight += failure.weight;
      else failures.delete(site);
    }
    return weight;
  }

  function become(down: boolean): void {
    board.setNetworkDown(down);
    deps.onChange(down);
    if (!down) {
      failures.clear();
      candidates.clear();
      timer = null;
      return;
    }
    downSinceS = nowS();
    timer = clock.after(trialEveryMs, () => void tryAgain());
  }

  /** The newest half of the round's dials and the oldest half, so that neither many dead ones nor old ones crowd out. */
  function nextDials(): string[] {
    const all = [...lastReached, ...candidates];
    const half = Math.ceil(trialDials / 2);
    return [...new Set([...all.slice(-half), ...all.slice(0, half)])];
  }

  async function tryAgain(): Promise<void> {
    const round = nextDials();
    const reached = await Promise.all(round.map((address) => deps.dial(address)));
    if (timer === null) return;
    if (reached.includes(true) || board.lastReachedS() > downSinceS) return become(false);
    for (const address of round) if (candidates.delete(address)) candidates.add(address);
    timer = clock.after(trialEveryMs, () => void tryAgain());
  }

  return {
    failed({ site, provider, address }) {
      remember(candidates, address, sitesRemembered);
      failures.delete(site);
      failures.set(site, { atS: nowS(), weight: provider !== null && ALWAYS_UP.has(provider) ? 2 : 1 });
      const [oldest] = failures.keys();
      if (failures.size > sitesRemembered && oldest !== undefined) failures.delete(oldest);
      if (timer === null && !confirming && !stopped && suspects() >= suspicion) void confirm();
    },
    reached: (address) => remember(lastReached, address, reachedRemembered),
    candidate(address) {
      if (timer !== null) remember(candidates, address, sitesRemembered);
    },
    stop() {
      stopped = true;
      timer?.cancel();
      timer = null;
    },
  };
}

import type { Clock } from "../platform/time/clock.ts";
import { dialTargetKey } from "../smtp/wire/dial.ts";
import { ALWAYS_UP, createRouteHealth, type RouteHealth, type SilentDial } from "./route-health.ts";
import type { SharedBoard } from "./shared-board.ts";

/**
 * Our own network, way by way (`route-health.ts`): gathers what check threads report, and writes on the board by which
 * ways nothing leaves. Checks that would go there are answered `our_network` at once, those that wait in a dial there
 * too; others go on.
 */
export interface NetworkHealth extends NetworkReports {
  /** Exchangers of the biggest providers, by way: addresses that are dialled when there is doubt. */
  setSentinels(path: string, exchangers: readonly { site: string; address: string }[]): void;
  /** Somebody else found that nothing leaves by this way, or nobody has tried it yet. */
  checkSoon(path: string): void;
  /** Nothing leaves by this way. */
  isDown(path: string): boolean;
  stop(): void;
}

/** What check threads report. An address is one by the way that its probes take (`dialTargetKey`): it is dialled so again. */
export interface NetworkReports {
  /** A dial of `LIMITS.network.silentMs` without an answer. */
  onSilent(dial: SilentDial): void;
  onFailed(dial: ReportedDial): void;
  /** An address that took a connection; told now and then, not each time. */
  onReached(dial: ReportedDial): void;
  /** An address that somebody would have dialled had we not been down: to be tried. */
  addCandidate(address: string): void;
}

export interface ReportedDial {
  site: string;
  address: string;
}

export interface NetworkHealthDeps {
  clock: Clock;
  board: SharedBoard;
  /** Names of all ways, in the order of the board. */
  routes: readonly string[];
  /** Those that probes may take. */
  routesInUse: readonly string[];
  /** True when the address of `trial`, by its way, takes a connection within `withinMs`. Never rejects. */
  dial(trial: string, withinMs: number): Promise<boolean>;
  /** @param all nothing leaves by any way in use */
  onChange(way: string, down: boolean, all: boolean): void;
}

/** A proxy that fails lets nothing out. A refusal shows that packets travel, unless it comes in the name of somebody who refuses nobody. */
export function suggestsCutOff(cause: string, provider: string | null): boolean {
  if (cause === "refused") return provider !== null && ALWAYS_UP.has(provider);
  return cause === "timeout" || cause === "unreachable" || cause === "proxy";
}

export function createNetworkHealth(deps: NetworkHealthDeps): NetworkHealth {
  const { clock, board, routesInUse: inUse, routes: names } = deps;
  const ways = new Map(names.map((name, index) => [name, healthOf(name, index)]));

  function healthOf(name: string, index: number): RouteHealth {
    return createRouteHealth({
      clock,
      lastReachedMs: () => board.lastReachedMs(index),
      noteReached: (epochMs) => board.noteReached(index, epochMs),
      dial: deps.dial,
      onChange(down) {
        board.setRouteDown(index, down);
        const all = inUse.every((way) => ways.get(way)?.isDown === true);
        board.setNetworkDown(all);
        deps.onChange(name, down, all);
      },
    });
  }

  const wayOf = (trial: string) => ways.get(trial.slice(0, trial.indexOf(" ")));

  return {
    onSilent: (dial) => wayOf(dial.address)?.onSilent(dial),
    onFailed: ({ site, address }) => wayOf(address)?.onFailed(site, address),
    onReached: ({ site, address }) => wayOf(address)?.onReached(site, address),
    addCandidate: (address) => wayOf(address)?.addCandidate(address),
    setSentinels(path, exchangers) {
      const trials = exchangers.map(({ site, address }) => ({ site, address: dialTargetKey(path, address) }));
      ways.get(path)?.setSentinels(trials);
    },
    checkSoon: (path) => ways.get(path)?.checkSoon(),
    isDown: (path) => ways.get(path)?.isDown === true,
    stop() {
      for (const health of ways.values()) health.stop();
    },
  };
}

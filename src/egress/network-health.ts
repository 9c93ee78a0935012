import type { Clock } from "../platform/time/clock.ts";
import { dialTargetKey } from "../smtp/wire/dial.ts";
import { ALWAYS_UP, createRouteHealth, type RouteHealth, type SilentDial } from "./route-health.ts";
import type { SharedBoard } from "./shared-board.ts";

/**
 * The health of our own network, for each egress route (`route-health.ts`): collects reports of check threads, and writes on the
 * shared board which routes are down. Checks over such a route are answered `our_network` at once, also those that wait in a
 * dial; others go on.
 */
export interface NetworkHealth extends NetworkReports {
  /** Exchangers of the biggest providers for a route: addresses that are dialled when the route is in doubt. */
  setSentinels(path: string, exchangers: readonly { site: string; address: string }[]): void;
  /** The route was found down elsewhere, or was never tried. */
  checkSoon(path: string): void;
  /** Nothing leaves by this route. */
  isDown(path: string): boolean;
  stop(): void;
}

/** Reports of check threads. An address includes the route that its probes take (`dialTargetKey`): it is dialled again over it. */
export interface NetworkReports {
  /** A dial of `LIMITS.network.silentMs` without an answer. */
  onSilent(dial: SilentDial): void;
  onFailed(dial: ReportedDial): void;
  /** An address accepted a connection. Reported now and then, not each time. */
  onReached(dial: ReportedDial): void;
  /** An address that would have been dialled were the route not down: a candidate to try. */
  addCandidate(address: string): void;
}

export interface ReportedDial {
  site: string;
  address: string;
}

export interface NetworkHealthDeps {
  clock: Clock;
  board: SharedBoard;
  /** Names of all routes, in the order of the board. */
  routes: readonly string[];
  /** Names of the routes that probes may take. */
  routesInUse: readonly string[];
  /** True when the address of `trial` accepts a connection over its route within `withinMs`. Never rejects. */
  dial(trial: string, withinMs: number): Promise<boolean>;
  /** @param all every route in use is down */
  onChange(way: string, down: boolean, all: boolean): void;
}

/** A failed proxy lets nothing out. A refusal shows that packets travel, except at a provider that never refuses connections. */
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

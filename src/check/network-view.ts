import { LRUCache } from "lru-cache";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Resolver } from "../dns/resolver.ts";
import { dialTargetKey } from "../smtp/dial.ts";
import type { EgressRoutes } from "../smtp/egress-routes.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import { lookUpHostAddresses } from "./mx.ts";
import { type NetworkReports, suggestsCutOff } from "./network-health.ts";
import { hasConnected } from "./probe.ts";
import type { SharedBoard } from "./shared-board.ts";

/** Our own network as a check thread sees it: what the board says of it, and what is reported of each attempt. */
export interface NetworkView {
  /** Nothing leaves by any way. */
  isDown(): boolean;
  /** No mail server has taken a connection since this process began. */
  nothingReachedYet(): boolean;
  /** Nothing leaves by this way. @param path its name */
  isCutOff(path: string): boolean;
  /** @param published the domain has MX records: the silence of one without says nothing, it often runs no mail server */
  onAttempt(target: AttemptTarget, outcome: RcptOutcome): void;
  /** A dial that nobody has answered for LIMITS.network.silentMs. */
  onSilentDial(dial: SilentAttempt): void;
  /** Lets the main thread find out by this host whether our network is back; the caller does not wait. */
  offerCandidate(site: string, host: string, recipient: string): void;
}

export interface AttemptTarget {
  site: string;
  provider: string | null;
  published: boolean;
}

export interface SilentAttempt {
  site: string;
  address: string;
  path: string;
  published: boolean;
  /** Wall time at which it began. */
  beganMs: number;
}

export interface NetworkViewDeps {
  clock: Clock;
  board: SharedBoard;
  paths: EgressRoutes;
  resolver: Resolver;
  reach: NetworkReports;
}

/** As fine as the board notes it. */
const NOTED_EVERY_MS = 10;
const { reachedEveryMs, reachedRemembered, silentEveryMs, sitesRemembered } = LIMITS.network;

export function createNetworkView({ clock, board, paths, resolver, reach }: NetworkViewDeps): NetworkView {
  const told = new LRUCache<string, number>({ max: sitesRemembered });
  const ways = new Map(paths.all.map(({ name }, index) => [name, index]));

  /** When each way was noted by this thread: the board's own look makes a bigint for each. */
  const notedMs = paths.all.map(() => Number.NEGATIVE_INFINITY);

  /** Sites that were told of in the present stretch of `reachedEveryMs`, by way. */
  const reachedSites = paths.all.map(() => ({ sinceMs: Number.NEGATIVE_INFINITY, sites: new Set<string>() }));

  /** Few messages, and of several sites also under steady load: one site alone can speak for nobody when it falls silent. */
  function isNews(site: string, way: number, nowMs: number): boolean {
    const recent = reachedSites[way];
    if (recent === undefined) return false;
    if (Math.abs(nowMs - recent.sinceMs) >= reachedEveryMs) {
      recent.sinceMs = nowMs;
      recent.sites.clear();
    }
    if (recent.sites.size >= reachedRemembered || recent.sites.has(site)) return false;
    recent.sites.add(site);
    return true;
  }

  function noteReached(site: string, way: number, path: string, address: string): void {
    const nowMs = clock.now();
    const sinceMs = nowMs - (notedMs[way] ?? Number.NEGATIVE_INFINITY);
    if (sinceMs >= 0 && sinceMs < NOTED_EVERY_MS) return;
    if (address !== "" && isNews(site, way, nowMs))
      reach.onReached({ site, address: dialTargetKey(path, address) });
    notedMs[way] = nowMs;
    board.noteReached(way, nowMs);
  }

  /** Most deployments have one way; then a comparison of two pointers finds it. */
  let last = { path: "", way: ways.get("") };
  function wayOf(path: string): number | undefined {
    if (path !== last.path) last = { path, way: ways.get(path) };
    return last.way;
  }

  return {
    isDown: () => board.isNetworkDown(),
    nothingReachedYet: () => paths.all.every((_, way) => board.lastReachedMs(way) === 0),
    isCutOff(path) {
      const way = wayOf(path);
      return way !== undefined && board.isRouteDown(way);
    },
    onAttempt({ site, provider, published }, outcome) {
      const way = wayOf(outcome.path);
      if (way === undefined) return;
      const { path, address } = outcome;
      if (hasConnected(outcome)) return noteReached(site, way, path, address);
      if (outcome.kind !== "failure" || outcome.stage !== "connect" || address === "") return;
      if (outcome.cause === "cut_off") reach.addCandidate(dialTargetKey(path, address));
      else if (published && suggestsCutOff(outcome.cause, provider))
        reach.onFailed({ site, address: dialTargetKey(path, address) });
    },
    onSilentDial({ site, address, path, published, beganMs }) {
      const way = ways.get(path);
      if (way === undefined || !published || board.isRouteDown(way) || board.lastReachedMs(way) >= beganMs)
        return;
      const key = `${path} ${site}`;
      if (clock.now() - (told.get(key) ?? 0) < silentEveryMs) return;
      told.set(key, clock.now());
      reach.onSilent({ site, address: dialTargetKey(path, address), beganMs });
    },
    offerCandidate(site, host, recipient) {
      lookUpHostAddresses(resolver, host).then(
        ([address]) => {
          const path = address === undefined ? undefined : paths.routeTo(site, address, recipient);
          if (address !== undefined && path !== undefined)
            reach.addCandidate(dialTargetKey(path.name, address));
        },
        // The resolver is overloaded: others' domains serve as well.
        () => {},
      );
    },
  };
}

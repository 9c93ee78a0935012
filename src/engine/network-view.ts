import { LRUCache } from "lru-cache";
import { LIMITS } from "../config/limits/limits.ts";
import type { Resolver } from "../dns/resolver.ts";
import { type NetworkReports, suggestsCutOff } from "../egress/network-health.ts";
import type { SharedBoard } from "../egress/shared-board.ts";
import type { Clock } from "../platform/time/clock.ts";
import { dialTargetKey } from "../smtp/wire/dial.ts";
import type { EgressRoutes } from "../smtp/wire/egress-routes.ts";
import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import { lookUpHostAddresses } from "./mx.ts";
import { hasConnected } from "./probe.ts";

/** The state of our own network for a check thread: reads it from the board, and reports each attempt. */
export interface NetworkView {
  /** All egress routes in use are down. */
  isDown(): boolean;
  /** No mail server has taken a connection since this process began. */
  nothingReachedYet(): boolean;
  /** Nothing leaves by this route. @param path its name */
  isCutOff(path: string): boolean;
  /** @param published the domain has MX records: the silence of one without says nothing, it often runs no mail server */
  onAttempt(target: AttemptTarget, outcome: RcptOutcome): void;
  /** A dial without an answer for LIMITS.network.silentMs. */
  onSilentDial(dial: SilentAttempt): void;
  /** Offers a host that the main thread may dial to find out whether our network is back. Does not wait. */
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

/** The resolution of the board. */
const NOTED_EVERY_MS = 10;
const { reachedEveryMs, reachedRemembered, silentEveryMs, sitesRemembered } = LIMITS.network;

export function createNetworkView(deps: NetworkViewDeps): NetworkView {
  return new ThreadNetworkView(deps);
}

class ThreadNetworkView implements NetworkView {
  readonly #deps: NetworkViewDeps;
  /** When a silent dial was last reported, by route and site. */
  readonly #silentMs = new LRUCache<string, number>({ max: sitesRemembered });
  readonly #routes: Map<string, number>;
  readonly #noted: NotedRoute[];
  /** Most deployments have one route; then a comparison of two pointers finds it. */
  #last: { path: string; route: number | undefined };

  constructor(deps: NetworkViewDeps) {
    this.#deps = deps;
    this.#routes = new Map(deps.paths.all.map(({ name }, index) => [name, index]));
    this.#noted = deps.paths.all.map(() => new NotedRoute());
    this.#last = { path: "", route: this.#routes.get("") };
  }

  isDown(): boolean {
    return this.#deps.board.isNetworkDown();
  }

  nothingReachedYet(): boolean {
    return this.#deps.paths.all.every((_, route) => this.#deps.board.lastReachedMs(route) === 0);
  }

  isCutOff(path: string): boolean {
    const route = this.#routeOf(path);
    return route !== undefined && this.#deps.board.isRouteDown(route);
  }

  onAttempt({ site, provider, published }: AttemptTarget, outcome: RcptOutcome): void {
    const route = this.#routeOf(outcome.path);
    if (route === undefined) return;
    const { path, address } = outcome;
    if (hasConnected(outcome)) {
      this.#noteReached(site, route, path, address);
      return;
    }
    if (outcome.kind !== "failure" || outcome.stage !== "connect" || address === "") return;
    const { reach } = this.#deps;
    if (outcome.cause === "cut_off") reach.addCandidate(dialTargetKey(path, address));
    else if (published && suggestsCutOff(outcome.cause, provider))
      reach.onFailed({ site, address: dialTargetKey(path, address) });
  }

  onSilentDial({ site, address, path, published, beganMs }: SilentAttempt): void {
    const { board, clock, reach } = this.#deps;
    const route = this.#routes.get(path);
    if (route === undefined || !published || board.isRouteDown(route)) return;
    if (board.lastReachedMs(route) >= beganMs) return;
    const key = `${path} ${site}`;
    if (clock.now() - (this.#silentMs.get(key) ?? 0) < silentEveryMs) return;
    this.#silentMs.set(key, clock.now());
    reach.onSilent({ site, address: dialTargetKey(path, address), beganMs });
  }

  offerCandidate(site: string, host: string, recipient: string): void {
    const { resolver, paths, reach } = this.#deps;
    lookUpHostAddresses(resolver, host).then(
      ([address]) => {
        const path = address === undefined ? undefined : paths.routeTo(site, address, recipient);
        if (address !== undefined && path !== undefined)
          reach.addCandidate(dialTargetKey(path.name, address));
      },
      // The resolver is overloaded: others' domains serve as well.
      () => {},
    );
  }

  #noteReached(site: string, route: number, path: string, address: string): void {
    const nowMs = this.#deps.clock.now();
    const noted = this.#noted[route];
    if (noted === undefined) return;
    const sinceMs = nowMs - noted.atMs;
    if (sinceMs >= 0 && sinceMs < NOTED_EVERY_MS) return;
    if (address !== "" && noted.isNews(site, nowMs))
      this.#deps.reach.onReached({ site, address: dialTargetKey(path, address) });
    noted.atMs = nowMs;
    this.#deps.board.noteReached(route, nowMs);
  }

  #routeOf(path: string): number | undefined {
    if (path !== this.#last.path) this.#last = { path, route: this.#routes.get(path) };
    return this.#last.route;
  }
}

/** State of one route in this thread. */
class NotedRoute {
  /** When it was last noted: to read that from the board creates a bigint each time. */
  atMs = Number.NEGATIVE_INFINITY;
  /** Sites that were reported since `#sinceMs`, for `reachedEveryMs`. */
  readonly #sites = new Set<string>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** Few messages, and of several sites also under steady load: one site alone proves nothing when it falls silent. */
  isNews(site: string, nowMs: number): boolean {
    if (Math.abs(nowMs - this.#sinceMs) >= reachedEveryMs) {
      this.#sinceMs = nowMs;
      this.#sites.clear();
    }
    if (this.#sites.size >= reachedRemembered || this.#sites.has(site)) return false;
    this.#sites.add(site);
    return true;
  }
}

import type { SmtpConfig } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { mayDial } from "../../platform/public-address.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import { type LearnedSiteLimits, LearnedSiteLimitsCache } from "../session/learned-site-limits.ts";
import { OutcomeDispatcher } from "../session/outcome-dispatcher.ts";
import {
  PromiseRcptCaller,
  type RcptCaller,
  RcptJob,
  type RcptJobOptions,
  sessionFailure,
} from "../session/rcpt-job.ts";
import { createSession, type SessionTarget } from "../session/session.ts";
import { SessionTraffic } from "../session/session-traffic.ts";
import type { createConnection } from "../wire/connection.ts";
import type { EgressRoute } from "../wire/egress-routes.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import { type Mailbox, parseHeloName, parseReversePath } from "../wire/mailbox.ts";
import type { RcptOutcome } from "../wire/outcome.ts";
import type { SitePolicy } from "../wire/policy.ts";
import { MxHost } from "./mx-host.ts";
import { MxHosts } from "./mx-hosts.ts";
import type { ThreadSlotSource } from "./slots.ts";
import { YoungDials } from "./young-dials.ts";

export interface Destination {
  site: string;
  /** The slot key that the connection counts against. */
  cap: string;
  /** MX host name. */
  host: string;
  /** One address of the host, an IPv4 or IPv6 literal. */
  address: string;
  path: EgressRoute;
  policy: SitePolicy;
  /** MX records name the host; false: the host is the domain itself, which often runs no mail server. */
  published: boolean;
  /** Dial no other address of the host beside this one. */
  alone?: boolean;
}

/** An address of a host and the egress route to it. */
export type RoutedAddress = Pick<Destination, "address" | "path">;

/** A connection completed its handshake, failed to, or closed after it. */
export interface PoolEvent {
  kind: "opened" | "open_failed" | "closed";
  site: string;
}

/** A dial has had no answer for `LIMITS.network.silentMs`; it continues. */
export interface SilentDialEvent {
  kind: "silent";
  site: string;
  address: string;
  /** Name of the egress route. */
  path: string;
  published: boolean;
  /** Wall time at which the dial started. */
  beganMs: number;
}

/** A server refuses as many connections as are open. */
export interface CrowdedEvent {
  kind: "crowded";
  /** Slot key that the connections count against. */
  cap: string;
}

export interface PoolStats {
  hosts: number;
  /** Open, opening or waiting for a slot. */
  sessions: number;
  idle: number;
  /** Jobs waiting for a session. */
  waiting: number;
  /** Jobs without an outcome, waiting ones included. */
  jobs: number;
}

/** SMTP sessions of one thread, shared by all callers that ask about recipients of the same MX host. */
export interface SmtpPool {
  /** Asks `destination` about `mailbox` in a transaction of its own. Never rejects; resolves by `deadlineAt` at the latest. */
  rcpt(destination: Destination, mailbox: Mailbox, options: RcptJobOptions): Promise<RcptOutcome>;
  /**
   * Like `rcpt` without a promise: `caller.onSettled` gets the outcome. Outcomes of one tick are delivered one after
   * another.
   * @param destination pass the same object for the same place to save its look-up
   */
  ask(destination: Destination, mailbox: Mailbox, caller: RcptCaller): void;
  /** Refuses new jobs, lets the present ones end, then closes the sessions with QUIT. */
  drain(): Promise<void>;
  /** Drops every session; unfinished jobs end as `cancelled`. */
  close(): void;
  /** Transactions that one write of a session of `site` takes, as far as this thread knows: the policy's maximum, or fewer. */
  depthAt(site: string, policy: SitePolicy): number;
  /** Ends waiting jobs to `site` by `path`, about `domain` unless it is "", as `held_back`; transactions already sent go on. */
  holdBack(site: string, path: string, domain: string): void;
  stats(): PoolStats;
}

export interface SmtpPoolDeps {
  config: SmtpConfig;
  slots: ThreadSlotSource;
  clock: Clock;
  log: Logger;
  onEvent(event: PoolEvent | SilentDialEvent | CrowdedEvent): void;
  /** Counters for what is written to a site; called once a host. Absent: nothing is counted. */
  trafficOf?(site: string): SessionTraffic;
  /**
   * Other addresses of the host, best first, for when that of `destination` is slow or fails. Absent: no other one is
   * dialled.
   */
  othersOf?(destination: Destination): Promise<readonly RoutedAddress[]>;
  /** Makes the connections. Absent: `createConnection`. */
  dial?: typeof createConnection | undefined;
}

class HostPool implements SmtpPool {
  readonly #deps: SmtpPoolDeps;
  readonly #slots: ThreadSlotSource;
  readonly #mailFrom;
  readonly #hosts = new MxHosts();
  readonly #keys = new WeakMap<Destination, string>();
  readonly #learnedLimits;
  /** Hosts waiting for room in the thread, in order. */
  readonly #waitingForRoom = new Set<{ schedulePump(): void }>();
  readonly #dials = new YoungDials<Destination>();
  readonly #outcomes = new OutcomeDispatcher();
  #sessions = 0;
  #jobs = 0;
  #sweeper: Timer | null = null;
  #draining = false;
  #drained: (() => void)[] = [];

  constructor(deps: SmtpPoolDeps) {
    const mailFrom = parseReversePath(deps.config.mailFrom);
    if (mailFrom === null) throw new Error("invalid MAIL FROM address");
    this.#deps = deps;
    this.#mailFrom = mailFrom;
    this.#learnedLimits = new LearnedSiteLimitsCache(deps.clock);
    this.#slots = deps.slots;
    this.#slots.onWanted((cap, soon) => this.#returnSession(cap, soon));
  }

  rcpt(destination: Destination, mailbox: Mailbox, options: RcptJobOptions): Promise<RcptOutcome> {
    return new Promise((resolve) => {
      this.ask(destination, mailbox, new PromiseRcptCaller(options, resolve));
    });
  }

  ask(destination: Destination, mailbox: Mailbox, caller: RcptCaller): void {
    const now = this.#deps.clock.monotonic();
    this.#jobs++;
    const job = new RcptJob(mailbox, destination, caller, now, this.#onSettled);
    const host = this.#findHost(destination);
    if (host instanceof MxHost) host.enqueue(job);
    else job.settle(host, false, now);
  }

  readonly #onSettled = (outcome: RcptOutcome, asker: RcptCaller): void => {
    this.#jobs--;
    this.#outcomes.add(outcome, asker);
    if (this.#draining) this.#checkDrained();
  };

  drain(): Promise<void> {
    this.#draining = true;
    return new Promise((resolve) => {
      this.#drained.push(resolve);
      this.#checkDrained();
    });
  }

  close(): void {
    this.#draining = true;
    this.#stopSweeping();
    for (const host of this.#hosts.all()) host.close();
    this.#hosts.clear();
    this.#waitingForRoom.clear();
    this.#checkDrained();
  }

  depthAt(site: string, policy: SitePolicy): number {
    const most = Math.min(policy.pipelineDepthMax, LIMITS.smtp.pipelineDepthMax);
    let best = 0;
    let asked = 0;
    for (const host of this.#hosts.atSite(site)) {
      best = Math.max(best, host.expectedDepth);
      if (best >= most || ++asked >= LIMITS.smtp.hostsSampledForDepth) break;
    }
    return best === 0 ? most : Math.min(best, most);
  }

  holdBack(site: string, path: string, domain: string): void {
    for (const host of this.#hosts.atSite(site)) host.holdBack(path, domain);
  }

  stats(): PoolStats {
    let idle = 0;
    let waiting = 0;
    for (const host of this.#hosts.all()) {
      idle += host.idle;
      waiting += host.backlog.length;
    }
    return { hosts: this.#hosts.size, sessions: this.#sessions, idle, waiting, jobs: this.#jobs };
  }

  /** The host to queue at, or why the job cannot be queued. */
  #findHost(destination: Destination): MxHost | SessionEnd {
    if (this.#draining) return sessionFailure("connect", "cancelled", "the pool is closing");
    const { policy } = destination;
    const key = this.#keyOf(destination);
    const host = this.#hosts.get(key) ?? this.#addHost(key, destination);
    if (!(host instanceof MxHost)) return host;
    if (host.backlog.length >= LIMITS.smtp.waitersPerHost)
      return sessionFailure("connect", "no_slot", "too many jobs wait for this MX host");
    host.policy = policy;
    return host;
  }

  #keyOf(destination: Destination): string {
    const known = this.#keys.get(destination);
    if (known !== undefined) return known;
    const { site, host, address, path, policy, alone } = destination;
    const key = `${site} ${host} ${address} ${path.name} ${policy.tls}${alone === true ? " alone" : ""}`;
    this.#keys.set(destination, key);
    return key;
  }

  /** Checks everything that the host key decides, once a host. */
  #addHost(key: string, destination: Destination): MxHost | SessionEnd {
    const { config, clock } = this.#deps;
    if (!mayDial(destination.address, config.probePrivateAddresses))
      return sessionFailure("connect", "private_address", "not a public address");
    if (this.#hosts.size >= LIMITS.smtp.hosts) this.#dropEmpty();
    if (this.#hosts.size >= LIMITS.smtp.hosts)
      return sessionFailure("connect", "no_slot", "too many MX hosts at once");
    const host = this.#createHost(destination);
    this.#hosts.add(key, host);
    this.#sweeper ??= clock.after(LIMITS.smtp.sweepMs, () => this.#sweep());
    return host;
  }

  #targetOf(host: string, { address, path }: RoutedAddress): SessionTarget {
    const heloName = parseHeloName(path.heloName);
    if (heloName === null) throw new Error("invalid HELO name of an egress route");
    const { name, localAddress, proxy } = path;
    return { host, address, port: this.#deps.config.port, path: name, localAddress, proxy, heloName };
  }

  /** null: dial the destination alone. A proxy chooses its connections itself. */
  #othersOf(destination: Destination): (() => Promise<SessionTarget[]>) | null {
    const { othersOf, config } = this.#deps;
    if (othersOf === undefined || destination.alone === true || destination.path.proxy !== null) return null;
    return async () =>
      (await othersOf(destination))
        .filter(({ address }) => mayDial(address, config.probePrivateAddresses))
        .map((other) => this.#targetOf(destination.host, other));
  }

  #createHost(destination: Destination): MxHost {
    const { site, cap, path, policy } = destination;
    const { clock, onEvent, dial } = this.#deps;
    const target = this.#targetOf(destination.host, destination);
    const others = this.#othersOf(destination);
    const mailFrom = this.#mailFrom;
    return new MxHost({
      site,
      cap,
      routeName: path.name,
      policy,
      clock,
      slots: this.#slots,
      room: { take: (wanting) => this.#takeRoom(wanting), give: () => this.#releaseRoom() },
      dial: (tls, handler) => {
        const session = createSession({ target, others, dial, tls, clock, mailFrom }, handler);
        this.#dials.add(session, destination, clock.monotonic());
        return session;
      },
      learned: this.#learnedLimitsOf(site),
      traffic: this.#deps.trafficOf?.(site) ?? new SessionTraffic(),
      onOpened: () => onEvent({ kind: "opened", site }),
      onCrowded: () => onEvent({ kind: "crowded", cap }),
      onClosed: (end, wasReady) => this.#onSessionClosed(site, end, wasReady),
    });
  }

  #learnedLimitsOf(site: string): LearnedSiteLimits {
    for (const { learned: lessons } of this.#hosts.atSite(site)) return lessons;
    return this.#learnedLimits.recall(site);
  }

  /** @param now when the sweep started; `nowMs` is its wall time */
  #reportSilentDials(now: number, nowMs: number): void {
    for (const { destination, startedAt } of this.#dials.takeSilent(now)) {
      const { site, address, path, published } = destination;
      const beganMs = nowMs - (now - startedAt);
      this.#deps.onEvent({ kind: "silent", site, address, path: path.name, published, beganMs });
    }
  }

  #onSessionClosed(site: string, end: SessionEnd, wasReady: boolean): void {
    const { log, onEvent } = this.#deps;
    const why = end.kind === "reply" ? { code: end.reply.code } : { cause: end.cause, detail: end.detail };
    log.debug({ site, stage: end.stage, ...why }, wasReady ? "session closed" : "session not opened");
    onEvent({ kind: wasReady ? "closed" : "open_failed", site });
  }

  /** A waiter needs a slot of `cap`: closes an idle session at once, else a busy one after its batch. */
  #returnSession(cap: string, soon: boolean): void {
    const hosts = this.#hosts.atCap(cap);
    for (const host of hosts) if (host.quitIdleSession()) return;
    for (const host of hosts) if (host.oweSession(soon)) return;
  }

  #takeRoom(host: { schedulePump(): void }): boolean {
    if (this.#sessions < LIMITS.smtp.sessionsPerThread) {
      this.#sessions++;
      return true;
    }
    this.#waitingForRoom.add(host);
    for (const other of this.#hosts.all()) if (other.quitIdleSession()) break;
    return false;
  }

  #releaseRoom(): void {
    this.#sessions--;
    if (this.#draining) this.#checkDrained();
    const [first] = this.#waitingForRoom;
    if (!first) return;
    this.#waitingForRoom.delete(first);
    first.schedulePump();
  }

  #sweep(): void {
    const { clock } = this.#deps;
    const now = clock.monotonic();
    const nowMs = clock.now();
    // Runs after the sockets were read: timers run before sockets, so after a stall of this thread our own silence would
    // count as the servers'.
    if (!this.#dials.isEmpty) setImmediate(() => this.#reportSilentDials(now, nowMs));
    for (const [key, host] of this.#hosts.entries())
      if (!host.sweep(now, this.#draining)) this.#drop(key, host);
    this.#sweeper = null;
    if (this.#hosts.size > 0) this.#sweeper = clock.after(LIMITS.smtp.sweepMs, () => this.#sweep());
    if (this.#draining) this.#checkDrained();
  }

  #dropEmpty(): void {
    for (const [key, host] of this.#hosts.entries()) if (host.isEmpty()) this.#drop(key, host);
  }

  #drop(key: string, host: MxHost): void {
    this.#hosts.delete(key, host);
    this.#learnedLimits.store(host.site, host.learned);
    this.#waitingForRoom.delete(host);
  }

  #checkDrained(): void {
    if (this.#jobs > 0) return;
    for (const host of this.#hosts.all()) while (host.quitIdleSession());
    if (this.#sessions > 0) return;
    this.#stopSweeping();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #stopSweeping(): void {
    this.#sweeper?.cancel();
    this.#sweeper = null;
    this.#dials.clear();
  }
}

/** @throws when MAIL FROM of the configuration is invalid */
export function createSmtpPool(deps: SmtpPoolDeps): SmtpPool {
  return new HostPool(deps);
}

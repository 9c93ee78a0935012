import type { Clock, Timer } from "../core/clock.ts";
import type { SmtpConfig } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { mayDial } from "../core/public-address.ts";
import { createForeseenSlots, type ForeseenSlots } from "./foreseen-slots.ts";
import type { SessionEnd } from "./handshake.ts";
import { type Asker, failed, Job, type JobOptions, LoneAsker } from "./job.ts";
import { LessonMemory, type SiteLessons } from "./lessons.ts";
import { type Mailbox, parseHeloName, parseReversePath } from "./mailbox.ts";
import { MxHost } from "./mx-host.ts";
import type { RcptOutcome } from "./outcome.ts";
import type { Path } from "./path.ts";
import type { SitePolicy } from "./policy.ts";
import { createSession, type Session, type SessionTarget } from "./session.ts";
import type { SlotSource } from "./slots.ts";
import { Tellings } from "./tellings.ts";
import { Traffic } from "./traffic.ts";

export interface Destination {
  site: string;
  /** What the connection counts against: the key of the slots. */
  cap: string;
  /** MX host name. */
  host: string;
  /** One address of the host, an IPv4 or IPv6 literal. */
  address: string;
  path: Path;
  policy: SitePolicy;
  /** The host is named by MX records; false: it is the domain itself, which often runs no mail server. */
  published: boolean;
  /** No other address of the host is tried beside this one. */
  alone?: boolean;
}

/** An address of a host, and the egress route to it. */
export type RoutedAddress = Pick<Destination, "address" | "path">;

/** A connection got through its handshake, did not, or one that had is gone. */
export interface PoolEvent {
  kind: "opened" | "open_failed" | "closed";
  site: string;
}

/** A dial that nobody has answered for `LIMITS.network.silentMs`; it goes on. */
export interface SilentDialEvent {
  kind: "silent";
  site: string;
  address: string;
  /** Name of the way. */
  path: string;
  published: boolean;
  /** Wall time at which it began. */
  beganMs: number;
}

/** A server has no room for as many connections as are open. */
export interface CrowdedEvent {
  kind: "crowded";
  /** Key of the slots that count. */
  cap: string;
}

export interface PoolStats {
  hosts: number;
  /** Open, being opened or waiting for a slot. */
  sessions: number;
  idle: number;
  /** Jobs that wait for a session. */
  waiting: number;
  /** Jobs without an outcome, those that wait included. */
  jobs: number;
}

/** SMTP sessions of one thread, shared by all that ask about recipients of the same MX host. */
export interface SmtpPool {
  /** Asks `destination` about `mailbox` in a transaction of its own. Never rejects; ends by `deadlineAt` at the latest. */
  rcpt(destination: Destination, mailbox: Mailbox, options: JobOptions): Promise<RcptOutcome>;
  /**
   * The same without a promise: `asker` is told. All that end in a turn of the event loop are told one after another.
   * @param destination who asks for the same place with the same object spares its look-up
   */
  ask(destination: Destination, mailbox: Mailbox, asker: Asker): void;
  /** A host that counts against `cap` will soon be asked, and its address is looked up: a slot is fetched meanwhile. */
  foresee(cap: string, max: number): void;
  /** Refuses new jobs, lets the present ones end, closes the sessions with QUIT. */
  drain(): Promise<void>;
  /** Drops every session; what was under way ends as `cancelled`. */
  close(): void;
  /** Transactions that one session of `site` takes in one write, as far as is known here: what the policy allows, or fewer. */
  depthAt(site: string, policy: SitePolicy): number;
  /** Jobs that wait to go out to `site` by `path`, about `domain` if it is not "", end as `held_back`; what was sent goes on. */
  holdBack(site: string, path: string, domain: string): void;
  stats(): PoolStats;
}

export interface SmtpPoolDeps {
  config: SmtpConfig;
  slots: SlotSource;
  clock: Clock;
  log: Logger;
  onEvent(event: PoolEvent | SilentDialEvent | CrowdedEvent): void;
  /** Where what is written to a site counts: asked once a host. Absent: nobody wants to know. */
  trafficOf?(site: string): Traffic;
  /** The other addresses of the host to dial where that of `destination` is slow or fails, best first. Absent: none is. */
  othersOf?(destination: Destination): Promise<readonly RoutedAddress[]>;
}

class HostPool implements SmtpPool {
  readonly #deps: SmtpPoolDeps;
  readonly #slots: ForeseenSlots;
  readonly #mailFrom;
  readonly #hosts = new Map<string, MxHost>();
  readonly #keys = new WeakMap<Destination, string>();
  readonly #sites = new Map<string, Set<MxHost>>();
  readonly #caps = new Map<string, Set<MxHost>>();
  readonly #lessons;
  /** Hosts that found no room for a session, in order. */
  readonly #starved = new Set<MxHost>();
  /** Young dials, looked at with each sweep. */
  #dials: { session: Session; destination: Destination; beganAt: number }[] = [];
  readonly #tellings = new Tellings();
  #sessions = 0;
  #jobs = 0;
  #sweeper: Timer | null = null;
  #draining = false;
  #drained: (() => void)[] = [];

  constructor(deps: SmtpPoolDeps) {
    const mailFrom = parseReversePath(deps.config.mailFrom);
    if (mailFrom === null) throw new Error("MAIL FROM may not be sent");
    this.#deps = deps;
    this.#mailFrom = mailFrom;
    this.#lessons = new LessonMemory(deps.clock);
    this.#slots = createForeseenSlots(deps.slots, deps.clock);
    this.#slots.onWanted((cap, soon) => this.#giveBack(cap, soon));
  }

  rcpt(destination: Destination, mailbox: Mailbox, options: JobOptions): Promise<RcptOutcome> {
    return new Promise((resolve) => {
      this.ask(destination, mailbox, new LoneAsker(options, resolve));
    });
  }

  ask(destination: Destination, mailbox: Mailbox, asker: Asker): void {
    const now = this.#deps.clock.monotonic();
    this.#jobs++;
    const job = new Job(mailbox, destination, asker, now, this.#settle);
    const host = this.#admit(destination);
    if (host instanceof MxHost) host.enqueue(job);
    else job.settle(host, false, now);
  }

  readonly #settle = (outcome: RcptOutcome, asker: Asker): void => {
    this.#jobs--;
    this.#tellings.add(outcome, asker);
    if (this.#draining) this.#checkDrained();
  };

  foresee(cap: string, max: number): void {
    if (!this.#draining && !this.#caps.has(cap)) this.#slots.foresee(cap, max);
  }

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
    for (const host of this.#hosts.values()) host.close();
    this.#hosts.clear();
    this.#sites.clear();
    this.#caps.clear();
    this.#starved.clear();
    this.#checkDrained();
  }

  depthAt(site: string, policy: SitePolicy): number {
    const most = Math.min(policy.pipelineDepthMax, LIMITS.smtp.pipelineDepthMax);
    let best = 0;
    let asked = 0;
    for (const host of this.#sites.get(site) ?? []) {
      best = Math.max(best, host.promisedDepth);
      if (best >= most || ++asked >= LIMITS.smtp.hostsAskedForDepth) break;
    }
    return best === 0 ? most : Math.min(best, most);
  }

  holdBack(site: string, path: string, domain: string): void {
    for (const host of this.#sites.get(site) ?? []) host.holdBack(path, domain);
  }

  stats(): PoolStats {
    let idle = 0;
    let waiting = 0;
    for (const host of this.#hosts.values()) {
      idle += host.idle;
      waiting += host.backlog.length;
    }
    return { hosts: this.#hosts.size, sessions: this.#sessions, idle, waiting, jobs: this.#jobs };
  }

  /** The host to queue at, or why there is none. */
  #admit(destination: Destination): MxHost | SessionEnd {
    if (this.#draining) return failed("connect", "cancelled", "the pool closes");
    const { policy } = destination;
    const key = this.#keyOf(destination);
    const host = this.#hosts.get(key) ?? this.#addHost(key, destination);
    if (!(host instanceof MxHost)) return host;
    if (host.backlog.length >= LIMITS.smtp.waitersPerHost)
      return failed("connect", "no_slot", "too many wait for this MX host");
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

  /** Everything about a host that its key decides is checked here, once. */
  #addHost(key: string, destination: Destination): MxHost | SessionEnd {
    const { config, clock } = this.#deps;
    const { site, cap, address } = destination;
    if (!mayDial(address, config.probePrivateAddresses))
      return failed("connect", "private_address", "not a public address");
    if (this.#hosts.size >= LIMITS.smtp.hosts) this.#dropEmpty();
    if (this.#hosts.size >= LIMITS.smtp.hosts)
      return failed("connect", "no_slot", "too many MX hosts at once");
    const host = this.#createHost(destination);
    this.#hosts.set(key, host);
    this.#sites.set(site, (this.#sites.get(site) ?? new Set()).add(host));
    this.#caps.set(cap, (this.#caps.get(cap) ?? new Set()).add(host));
    this.#sweeper ??= clock.after(LIMITS.smtp.sweepMs, () => this.#sweep());
    return host;
  }

  #targetOf(host: string, { address, path }: RoutedAddress): SessionTarget {
    const heloName = parseHeloName(path.heloName);
    if (heloName === null) throw new Error("the HELO name of a way may not be sent");
    const { name, localAddress, proxy } = path;
    return { host, address, port: this.#deps.config.port, path: name, localAddress, proxy, heloName };
  }

  /** null: the destination is dialled by itself. A proxy decides on its own whom it connects to, and how. */
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
    const { clock, onEvent } = this.#deps;
    const target = this.#targetOf(destination.host, destination);
    const others = this.#othersOf(destination);
    const mailFrom = this.#mailFrom;
    return new MxHost({
      site,
      cap,
      path: path.name,
      policy,
      clock,
      slots: this.#slots,
      room: { take: (wanting) => this.#takeRoom(wanting), give: () => this.#giveRoom() },
      dial: (tls, handler) => {
        const session = createSession({ target, others, tls, clock, mailFrom }, handler);
        this.#dials.push({ session, destination, beganAt: clock.monotonic() });
        return session;
      },
      lessons: this.#lessonsOf(site),
      traffic: this.#deps.trafficOf?.(site) ?? new Traffic(),
      onOpened: () => onEvent({ kind: "opened", site }),
      onCrowded: () => onEvent({ kind: "crowded", cap }),
      onClosed: (end, wasReady) => this.#sessionClosed(site, end, wasReady),
    });
  }

  #lessonsOf(site: string): SiteLessons {
    for (const { lessons } of this.#sites.get(site) ?? []) return lessons;
    return this.#lessons.recall(site);
  }

  /**
   * Tells of dials that nobody answers; those that were answered, or are over, are looked at no more.
   * @param now when the sweep began, and `nowMs` its wall time
   */
  #tellSilence(now: number, nowMs: number): void {
    const { onEvent } = this.#deps;
    const silentMs = LIMITS.network.silentMs;
    this.#dials = this.#dials.filter(({ session, destination, beganAt }) => {
      if (session.stage !== "connect") return false;
      if (now - beganAt < silentMs) return true;
      const { site, address, path, published } = destination;
      const beganMs = nowMs - (now - beganAt);
      onEvent({ kind: "silent", site, address, path: path.name, published, beganMs });
      return false;
    });
  }

  #sessionClosed(site: string, end: SessionEnd, wasReady: boolean): void {
    const { log, onEvent } = this.#deps;
    const why = end.kind === "reply" ? { code: end.reply.code } : { cause: end.cause, detail: end.detail };
    log.debug({ site, stage: end.stage, ...why }, wasReady ? "session closed" : "session not opened");
    onEvent({ kind: wasReady ? "closed" : "open_failed", site });
  }

  /** Somebody waits for a slot of `cap`: an idle session goes at once, else one in use after its batch. */
  #giveBack(cap: string, soon: boolean): void {
    const hosts = this.#caps.get(cap);
    if (!hosts) return;
    for (const host of hosts) if (host.giveIdle()) return;
    for (const host of hosts) if (host.oweOne(soon)) return;
  }

  #takeRoom(host: MxHost): boolean {
    if (this.#sessions < LIMITS.smtp.sessionsPerThread) {
      this.#sessions++;
      return true;
    }
    this.#starved.add(host);
    for (const other of this.#hosts.values()) if (other.giveIdle()) break;
    return false;
  }

  #giveRoom(): void {
    this.#sessions--;
    if (this.#draining) this.#checkDrained();
    const [first] = this.#starved;
    if (!first) return;
    this.#starved.delete(first);
    first.pumpSoon();
  }

  #sweep(): void {
    const { clock } = this.#deps;
    const now = clock.monotonic();
    const nowMs = clock.now();
    // After the sockets were looked at: when this thread has stood still, timers come before what came in meanwhile, and our
    // own silence would be taken for the servers'.
    if (this.#dials.length > 0) setImmediate(() => this.#tellSilence(now, nowMs));
    for (const [key, host] of this.#hosts) if (!host.sweep(now, this.#draining)) this.#drop(key, host);
    this.#sweeper = null;
    if (this.#hosts.size > 0) this.#sweeper = clock.after(LIMITS.smtp.sweepMs, () => this.#sweep());
    if (this.#draining) this.#checkDrained();
  }

  #dropEmpty(): void {
    for (const [key, host] of this.#hosts) if (host.isEmpty()) this.#drop(key, host);
  }

  #drop(key: string, host: MxHost): void {
    this.#hosts.delete(key);
    this.#lessons.keep(host.site, host.lessons);
    this.#starved.delete(host);
    leave(this.#sites, host.site, host);
    leave(this.#caps, host.cap, host);
  }

  #checkDrained(): void {
    if (this.#jobs > 0) return;
    for (const host of this.#hosts.values()) while (host.giveIdle());
    if (this.#sessions > 0) return;
    this.#stopSweeping();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #stopSweeping(): void {
    this.#sweeper?.cancel();
    this.#sweeper = null;
    this.#dials = [];
  }
}

function leave(groups: Map<string, Set<MxHost>>, key: string, host: MxHost): void {
  const group = groups.get(key);
  group?.delete(host);
  if (group?.size === 0) groups.delete(key);
}

/** @throws when MAIL FROM of the configuration may not be sent. */
export function createSmtpPool(deps: SmtpPoolDeps): SmtpPool {
  return new HostPool(deps);
}

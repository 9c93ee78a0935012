import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import { CUSTOMERS_OWN_SERVERS } from "../providers.ts";
import { type Known, KnownWays, type Open } from "./known.ts";
import type { Block, BreakerNews, TrialEnd, TrialGrant } from "./messages.ts";
import type { BreakerStore, OpenState, OwnState, Settlement } from "./store.ts";
import { Tally } from "./tally.ts";
import { keyOf, type Way, wayKey } from "./way.ts";

/**
 * The circuit breakers of a process, in its main thread, shared with the other processes of its egress.
 *
 * Closed → *open* when the answers of a way say that we are blocked there (`tally.ts`); each process counts for itself, so that
 * n of them may meet n times as many blocks, but what one opens is open to all. Open → a *trial* after the first time, then
 * after twice as long each time, with some chance in it: one probe in the egress, whichever wants to go there first. It is let
 * through → closed; blocked again → open for longer; it tells nothing → open for as long again; it was not put, for reasons of
 * ours, or its thread died → the next one may go at once. Other probes that were in flight when it opened change nothing. Who
 * blocks us again soon after a recovery is left alone for as long as before and longer.
 *
 * A site's trial that is blocked at RCPT may have met a customer's own list: that domain is left alone, and the next trial is
 * another's; only when those of as many domains are blocked as it takes to open the site is it open for longer.
 *
 * Without the store a process keeps its breakers for itself, and n processes may try n times; when it is back, the next trial
 * tells it what is open here. Just after it was emptied a second trial may begin while another's is under way. A process that
 * comes late, or was cut off, learns of an open breaker by the first block it meets.
 */
export interface BreakerAuthority {
  /** Begins to follow the other processes. */
  start(): void;
  /** Gives back the trials under way. Never rejects. */
  close(): Promise<void>;
  /** Tells `mirror` what there is, and all that comes. @returns how to end it */
  attach(mirror: (news: BreakerNews) => void): () => void;
  blocked(block: Block): void;
  passed(site: string, path: string, domain: string): void;
  /** The trial of an open way, for one at a time. */
  seekTrial(key: string): Promise<TrialGrant>;
  /** A token counts once. */
  tried(token: string, end: TrialEnd): void;
  /** How long rows should wait that found the site's breaker open; null: none of the site is open. */
  waitMs(site: string): number | null;
  /** Breakers that are open as far as this process knows, by provider; "other" for none. */
  openByProvider(): Map<string, number>;
}

export interface BreakerEvent {
  way: Way;
  /** Since it opened. */
  openForMs: number;
  /** Until the next trial. */
  dueInMs: number;
  /** What the server said, redacted. */
  reply: string;
  /** It was this process that brought it about; else it heard of it. */
  mine: boolean;
}

export interface BreakerAuthorityDeps {
  clock: Clock;
  log: Logger;
  store: BreakerStore;
  /** Of the first time that a breaker is open. */
  firstMs: number;
  /** 0 up to 1. */
  random(): number;
  /** Once per transition. Must not throw. */
  onChange(state: "opened" | "reopened" | "closed", event: BreakerEvent): void;
  /** Another process closed a breaker that was not known here to be open. Must not throw. */
  onFreed(way: Way): void;
}

class Authority implements BreakerAuthority {
  readonly #deps: BreakerAuthorityDeps;
  readonly #ways = new KnownWays((known) => this.#drop(known));
  readonly #trials = new Map<string, Known>();
  readonly #mirrors = new Set<(news: BreakerNews) => void>();
  #sweeper: Timer | null = null;
  #closed = false;

  constructor(deps: BreakerAuthorityDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#deps.store.listen((way, state) => this.#heard(way, state));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sweeper?.cancel();
    const given = [...this.#trials].map(([token, { way }]) => {
      this.#ways.openBy(keyOf(way))?.open?.trial?.timer.cancel();
      return this.#deps.store.settle(way, token, { kind: "returned" });
    });
    this.#trials.clear();
    await Promise.allSettled(given);
  }

  attach(mirror: (news: BreakerNews) => void): () => void {
    this.#mirrors.add(mirror);
    for (const known of this.#ways.all()) {
      if (known.open !== null) mirror(this.#openNews(known, known.open, true));
      if (!known.tally.isPristine) mirror({ kind: "watched", key: keyOf(known.way) });
    }
    return () => void this.#mirrors.delete(mirror);
  }

  blocked({ site, path, domain, provider, early, reply }: Block): void {
    if (this.#closed || this.#ways.openAt(site, path, domain) !== undefined) return;
    const isOfSite = early && !CUSTOMERS_OWN_SERVERS.has(provider ?? "");
    const known = this.#ways.of({ site, path, domain: "", provider });
    this.#count(known, isOfSite ? "" : domain);
    if (known.tally.isSiteBlocked(provider !== null, this.#now())) {
      this.#openWay(known, reply);
      return;
    }
    this.#look(known, reply);
    if (isOfSite) return;
    const own = this.#ways.of({ site, path, domain, provider });
    this.#count(own, domain);
    if (own.tally.isBlocked(this.#now())) this.#openWay(own, reply);
    else this.#look(own, reply);
  }

  passed(site: string, path: string, domain: string): void {
    for (const key of [wayKey(site, path), wayKey(site, path, domain)]) {
      const known = this.#ways.get(key);
      if (known === undefined || known.open !== null || known.tally.isPristine) continue;
      known.tally.pass(this.#now());
      if (known.tally.isPristine) this.#tell({ kind: "calm", key });
    }
  }

  async seekTrial(key: string): Promise<TrialGrant> {
    const { trialWaitMs } = LIMITS.breaker;
    const known = this.#ways.openBy(key);
    const open = known?.open ?? null;
    if (known === undefined || open === null) return { token: null, free: true, dueInMs: 0 };
    const leftMs = open.dueAt - this.#now();
    if (leftMs > 0) return { token: null, free: false, dueInMs: leftMs };
    if (this.#closed || open.trial !== null || open.asking)
      return { token: null, free: false, dueInMs: trialWaitMs };
    const token = randomUUID();
    open.asking = true;
    const taken = await this.#take(known.way, token, this.#own(open));
    open.asking = false;
    if (taken !== null && !taken.granted) {
      if (known.open === open) this.#adopt(known, taken.state, false);
      const waitMs = taken.state.trial ? trialWaitMs : Math.max(taken.state.dueInMs, 0);
      return { token: null, free: false, dueInMs: waitMs };
    }
    if (known.open !== open || this.#closed) {
      // It was closed, or is another's to try, while the store was asked.
      const { site, path, domain } = known.way;
      const free = this.#ways.openAt(site, path, domain) === undefined;
      this.#settle(known.way, token, free ? { kind: "closed" } : { kind: "returned" });
      return { token: null, free, dueInMs: trialWaitMs };
    }
    const timer = this.#deps.clock.after(LIMITS.breaker.trialTtlMs, () =>
      this.tried(token, { kind: "ours" }),
    );
    open.trial = { token, timer };
    this.#trials.set(token, known);
    return { token, free: false, dueInMs: 0 };
  }

  tried(token: string, end: TrialEnd): void {
    const known = this.#trials.get(token);
    const open = known?.open ?? null;
    this.#trials.delete(token);
    if (known === undefined || open?.trial?.token !== token) return;
    open.trial.timer.cancel();
    open.trial = null;
    if (end.kind === "passed") {
      this.#settle(known.way, token, { kind: "closed" });
      this.#closeWay(known, open, true);
    } else if (end.kind === "ours" || (end.kind === "blocked" && this.#isCustomers(known, open, end))) {
      this.#settle(known.way, token, { kind: "returned" });
      this.#tell(this.#openNews(known, open, false));
    } else this.#openAgain(known, open, token, end);
  }

  waitMs(site: string): number | null {
    let waitMs: number | null = null;
    for (const { open } of this.#ways.openOf(site)) {
      if (open === null) continue;
      const leftMs = open.isElsewhere ? 0 : open.dueAt - this.#now();
      const ownMs = leftMs > 0 ? leftMs : LIMITS.breaker.parkedTrialMs;
      waitMs = Math.min(waitMs ?? ownMs, ownMs);
    }
    return waitMs;
  }

  openByProvider(): Map<string, number> {
    return this.#ways.openByProvider();
  }

  #now(): number {
    return this.#deps.clock.monotonic();
  }

  #count({ way, tally }: Known, domain: string): void {
    const isFirst = tally.isPristine;
    tally.block(domain, this.#now());
    if (isFirst) this.#tell({ kind: "watched", key: keyOf(way) });
  }

  /** The site's trial met what may be a list of its domain's alone: that is left alone, unless too many are. */
  #isCustomers({ way }: Known, open: Open, { domain, early, reply }: Extract<TrialEnd, { kind: "blocked" }>) {
    const { site, path, provider } = way;
    if (way.domain !== "" || (early && !CUSTOMERS_OWN_SERVERS.has(provider ?? ""))) return false;
    const { answersKeptMs, domainsOfProvider, domainsOfSite } = LIMITS.breaker;
    const now = this.#now();
    for (const [other, atMs] of open.blockedDomains)
      if (atMs <= now - answersKeptMs) open.blockedDomains.delete(other);
    open.blockedDomains.set(domain, now);
    if (open.blockedDomains.size >= (provider === null ? domainsOfSite : domainsOfProvider)) return false;
    const own = this.#ways.of({ site, path, domain, provider });
    if (own.open === null) this.#openWay(own, reply);
    else this.#openAgain(own, own.open, "", { kind: "blocked", domain, early, reply });
    return true;
  }

  #openAgain(known: Known, open: Open, token: string, end: TrialEnd): void {
    if (end.kind === "blocked") {
      open.level += 1;
      open.reply = end.reply;
    }
    open.blockedDomains.clear();
    open.dueAt = this.#now() + this.#delayMs(open.level);
    open.isElsewhere = false;
    this.#settle(known.way, token, { kind: "open", ...this.#own(open) });
    this.#tell(this.#openNews(known, open, false));
    if (end.kind === "blocked") this.#say("reopened", known, open, true);
  }

  /** As if nothing had been, as far as this process is concerned. */
  #drop(known: Known): void {
    known.tally = new Tally();
    this.#tell({ kind: "calm", key: keyOf(known.way) });
    if (known.open === null) return;
    if (known.open.trial !== null) {
      const { timer, token } = known.open.trial;
      timer.cancel();
      this.#trials.delete(token);
      this.#settle(known.way, token, { kind: "returned" });
    }
    this.#ways.setClosed(known);
    this.#tell({ kind: "closed", way: known.way });
  }

  #delayMs(level: number): number {
    const { maxMs, jitter } = LIMITS.breaker;
    const { firstMs, random } = this.#deps;
    const delayMs = Math.min(firstMs * 2 ** Math.min(level, 30), Math.max(firstMs, maxMs));
    return Math.round(delayMs * (1 + jitter * random()));
  }

  #own({ level, sinceMs, dueAt }: Open): OwnState {
    return { level, openForMs: this.#now() - sinceMs, dueInMs: dueAt - this.#now() };
  }

  #openNews({ way }: Known, { dueAt }: Open, opened: boolean): BreakerNews {
    return { kind: "open", way, dueInMs: dueAt - this.#now(), opened };
  }

  #tell(news: BreakerNews): void {
    for (const mirror of this.#mirrors) mirror(news);
  }

  #say(state: "opened" | "reopened" | "closed", known: Known, open: Open, mine: boolean): void {
    const { openForMs, dueInMs } = this.#own(open);
    this.#deps.onChange(state, { way: known.way, openForMs, dueInMs, reply: open.reply, mine });
  }

  #openWay(known: Known, reply: string): void {
    if (known.open !== null) return;
    const level = this.#now() < known.warnedUntil ? known.level + 1 : 0;
    const dueInMs = this.#delayMs(level);
    const open = this.#place(known, { level, openForMs: 0, dueInMs }, reply);
    this.#deps.store.open(known.way, { level, openForMs: 0, dueInMs }).then(
      ({ first, state }) => {
        if (!first && known.open === open) this.#adopt(known, state, false);
        this.#say("opened", known, open, first);
      },
      (error: unknown) => {
        this.#noteAway(error);
        this.#say("opened", known, open, true);
      },
    );
  }

  /** From now on it is open here. */
  #place(known: Known, state: OwnState & Partial<OpenState>, reply: string): Open {
    const open: Open = {
      ...{ sinceMs: 0, dueAt: 0, level: 0, isElsewhere: false, reply, trial: null, asking: false },
      blockedDomains: new Map(),
    };
    this.#set(open, state);
    this.#ways.setOpen(known, open);
    const { site, path, domain } = known.way;
    // What is true of all the site needs no trials domain by domain.
    if (domain === "")
      for (const other of [...this.#ways.openOf(site)])
        if (other !== known && other.way.path === path) this.#drop(other);
    this.#tell(this.#openNews(known, open, true));
    this.#keepSweeping();
    return open;
  }

  /** What the store says goes, but of a trial of ours that is under way only its end tells. */
  #adopt(known: Known, state: OpenState, isNew: boolean): void {
    const { open } = known;
    if (open === null || open.trial !== null) return;
    this.#set(open, state);
    this.#tell(this.#openNews(known, open, isNew));
  }

  /** While another process tries, nobody here need ask for the trial all the time. */
  #set(open: Open, { level, openForMs, dueInMs, trial = false }: OwnState & Partial<OpenState>): void {
    open.level = level;
    open.sinceMs = this.#now() - openForMs;
    open.dueAt = this.#now() + (trial ? Math.max(dueInMs, LIMITS.breaker.trialWaitMs) : dueInMs);
    open.isElsewhere = trial;
  }

  #closeWay(known: Known, open: Open, mine: boolean): void {
    known.level = open.level;
    known.warnedUntil = this.#now() + Math.max(LIMITS.breaker.maxMs, this.#deps.firstMs);
    this.#drop(known);
    if (known.way.domain !== "") this.passed(known.way.site, known.way.path, known.way.domain);
    this.#say("closed", known, open, mine);
  }

  #heard(way: Way, state: OpenState | null): void {
    if (this.#closed) return;
    if (state === null) {
      const known = this.#ways.openBy(keyOf(way));
      if (known?.open) this.#closeWay(known, known.open, false);
      else this.#deps.onFreed(way);
      return;
    }
    const known = this.#ways.of(way);
    if (known.open !== null) this.#adopt(known, state, false);
    else this.#say("opened", known, this.#place(known, state, ""), false);
  }

  /** Another process may have opened it before this one was there to hear of it. */
  #look(known: Known, reply: string): void {
    if (this.#now() - known.lookedAt < LIMITS.breaker.lookEveryMs) return;
    known.lookedAt = this.#now();
    this.#deps.store.look(known.way).then(
      (state) => {
        if (state === null || known.open !== null || this.#closed) return;
        this.#say("opened", known, this.#place(known, state, reply), false);
      },
      (error: unknown) => this.#noteAway(error),
    );
  }

  /** null: the store does not answer, and the process decides alone. */
  async #take(way: Way, token: string, mine: OwnState) {
    try {
      return await this.#deps.store.take(way, token, mine);
    } catch (error) {
      this.#noteAway(error);
      return null;
    }
  }

  #settle(way: Way, token: string, settlement: Settlement): void {
    this.#deps.store.settle(way, token, settlement).catch((error: unknown) => this.#noteAway(error));
  }

  #noteAway(error: unknown): void {
    this.#deps.log.debug({ err: error }, "the breakers of the egress are not shared at present");
  }

  #keepSweeping(): void {
    if (this.#closed) return;
    this.#sweeper ??= this.#deps.clock.after(LIMITS.breaker.sweepMs, () => {
      this.#sweeper = null;
      const before = this.#now() - LIMITS.breaker.forgetMs;
      for (const known of this.#ways.open())
        if (known.open !== null && known.open.trial === null && known.open.dueAt < before) this.#drop(known);
      if (this.#ways.open().length > 0) this.#keepSweeping();
    });
  }
}

export function createBreakerAuthority(deps: BreakerAuthorityDeps): BreakerAuthority {
  return new Authority(deps);
}

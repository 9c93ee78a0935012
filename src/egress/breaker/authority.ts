import { randomUUID } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import { CUSTOMERS_OWN_SERVERS } from "../../verification/lists/providers.ts";
import { BlockTally } from "./block-tally.ts";
import { type BreakerRecord, BreakerRecords, type OpenBreaker } from "./breaker-records.ts";
import type { Block, BreakerUpdate, TrialEnd, TrialGrant } from "./messages.ts";
import {
  applyState,
  type BreakerNow,
  breakerNow,
  countBlockedDomain,
  createOpenBreaker,
  localStateOf,
  openUpdateOf,
  type ReportedBreakerState,
  trialDelayMs,
} from "./open-breaker.ts";
import { type BreakerScope, breakerKey, keyOfScope } from "./scope.ts";
import type { BreakerStore, LocalBreakerState, OpenBreakerState, TrialSettlement } from "./store.ts";

/**
 * The circuit breakers of a process, in its main thread, shared with the other processes of its egress.
 *
 * Closed → *open* when the answers over a route show that we are blocked there (`block-tally.ts`). Each process counts for
 * itself, so n processes may meet n times as many blocks. A breaker that one of them opens is open for all.
 *
 * Open → a *trial* after the first time, then after twice as long each time, with some jitter. A trial is one probe of the
 * egress, the first that wants to go there. Accepted → closed; blocked again → open for longer; no result → open for as
 * long again. If it was not sent, for reasons of ours, or its thread died, the next one may go at once. Probes that were in
 * flight when the breaker opened change nothing. A site that blocks us again soon after a recovery is avoided for as long
 * as before and longer.
 *
 * A site's trial that is blocked at RCPT may have met a customer's own list. That domain gets a breaker of its own, and the
 * next trial uses another domain. The site is open for longer only when as many domains are blocked as it takes to open the
 * site.
 *
 * Without the store a process has its breakers for itself, and n processes may try n times. When the store is back, the
 * next trial reports what is open here. Just after the store was emptied, a second trial may start during another's. A
 * process that starts later, or was disconnected, learns of an open breaker by the first block it meets.
 */
export interface BreakerAuthority {
  /** Begins to follow the other processes. */
  start(): void;
  /** Gives back the trials in progress. Never rejects. */
  close(): Promise<void>;
  /** Sends `mirror` the current state, and each later change. @returns a function that detaches it */
  attach(mirror: (news: BreakerUpdate) => void): () => void;
  onBlocked(block: Block): void;
  onPassed(site: string, path: string, domain: string): void;
  /** Requests the trial of an open breaker. Only one is granted at a time. */
  requestTrial(key: string): Promise<TrialGrant>;
  /** A token counts once. */
  onTrialEnded(token: string, end: TrialEnd): void;
  /** How long rows that found the site's breaker open should wait; null: no breaker of the site is open. */
  waitMs(site: string): number | null;
  /** Number of breakers that are open as far as this process knows, by provider; "other" for sites without one. */
  openByProvider(): Map<string, number>;
  /** The same breakers, the longest open first. */
  openNow(): BreakerNow[];
}

export interface BreakerEvent {
  way: BreakerScope;
  /** Since it opened. */
  openForMs: number;
  /** Until the next trial. */
  dueInMs: number;
  /** The server's reply, redacted. */
  reply: string;
  /** This process caused it; false: another one did. */
  isLocal: boolean;
}

export interface BreakerAuthorityDeps {
  clock: Clock;
  log: Logger;
  store: BreakerStore;
  /** Duration of the first opening of a breaker. */
  firstMs: number;
  /** 0 up to 1. */
  random(): number;
  /** Once per transition. Must not throw. */
  onChange(state: "opened" | "reopened" | "closed", event: BreakerEvent): void;
  /** Another process closed a breaker that was not known here to be open. Must not throw. */
  onFreed(way: BreakerScope): void;
}

class Authority implements BreakerAuthority {
  readonly #deps: BreakerAuthorityDeps;
  readonly #records = new BreakerRecords((known) => this.#drop(known));
  readonly #trials = new Map<string, BreakerRecord>();
  readonly #mirrors = new Set<(news: BreakerUpdate) => void>();
  #sweeper: Timer | null = null;
  #closed = false;

  constructor(deps: BreakerAuthorityDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#deps.store.listen((way, state) => this.#onRemoteState(way, state));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sweeper?.cancel();
    const given = [...this.#trials].map(([token, { way }]) => {
      this.#records.openByKey(keyOfScope(way))?.open?.trial?.timer.cancel();
      return this.#deps.store.settleTrial(way, token, { kind: "returned" });
    });
    this.#trials.clear();
    await Promise.allSettled(given);
  }

  attach(mirror: (news: BreakerUpdate) => void): () => void {
    this.#mirrors.add(mirror);
    for (const known of this.#records.all()) {
      if (known.open !== null) mirror(openUpdateOf(known, known.open, true, this.#now()));
      if (!known.tally.hasNoBlocks) mirror({ kind: "watched", key: keyOfScope(known.way) });
    }
    return () => void this.#mirrors.delete(mirror);
  }

  onBlocked({ site, path, domain, provider, early, reply }: Block): void {
    if (this.#closed || this.#records.openFor(site, path, domain) !== undefined) return;
    const isOfSite = early && !CUSTOMERS_OWN_SERVERS.has(provider ?? "");
    const known = this.#records.remember({ site, path, domain: "", provider });
    this.#countBlock(known, isOfSite ? "" : domain);
    if (known.tally.isSiteBlocked(provider !== null, this.#now())) {
      this.#open(known, reply);
      return;
    }
    this.#refresh(known, reply);
    if (isOfSite) return;
    const own = this.#records.remember({ site, path, domain, provider });
    this.#countBlock(own, domain);
    if (own.tally.isBlocked(this.#now())) this.#open(own, reply);
    else this.#refresh(own, reply);
  }

  onPassed(site: string, path: string, domain: string): void {
    for (const key of [breakerKey(site, path), breakerKey(site, path, domain)]) {
      const known = this.#records.get(key);
      if (known === undefined || known.open !== null || known.tally.hasNoBlocks) continue;
      known.tally.pass(this.#now());
      if (known.tally.hasNoBlocks) this.#notifyThreads({ kind: "calm", key });
    }
  }

  async requestTrial(key: string): Promise<TrialGrant> {
    const { trialWaitMs } = LIMITS.breaker;
    const known = this.#records.openByKey(key);
    const open = known?.open ?? null;
    if (known === undefined || open === null) return { token: null, free: true, dueInMs: 0 };
    const leftMs = open.dueAt - this.#now();
    if (leftMs > 0) return { token: null, free: false, dueInMs: leftMs };
    if (this.#closed || open.trial !== null || open.isClaimingTrial)
      return { token: null, free: false, dueInMs: trialWaitMs };
    const token = randomUUID();
    open.isClaimingTrial = true;
    const taken = await this.#take(known.way, token, localStateOf(open, this.#now()));
    open.isClaimingTrial = false;
    if (taken !== null && !taken.granted) {
      if (known.open === open) this.#adopt(known, taken.state, false);
      const waitMs = taken.state.trial ? trialWaitMs : Math.max(taken.state.dueInMs, 0);
      return { token: null, free: false, dueInMs: waitMs };
    }
    if (known.open !== open || this.#closed) {
      // While the store was asked, the breaker closed, or another process got the trial.
      const { site, path, domain } = known.way;
      const free = this.#records.openFor(site, path, domain) === undefined;
      this.#settle(known.way, token, free ? { kind: "closed" } : { kind: "returned" });
      return { token: null, free, dueInMs: trialWaitMs };
    }
    const timer = this.#deps.clock.after(LIMITS.breaker.trialTtlMs, () =>
      this.onTrialEnded(token, { kind: "ours" }),
    );
    open.trial = { token, timer };
    this.#trials.set(token, known);
    return { token, free: false, dueInMs: 0 };
  }

  onTrialEnded(token: string, end: TrialEnd): void {
    const known = this.#trials.get(token);
    const open = known?.open ?? null;
    this.#trials.delete(token);
    if (known === undefined || open?.trial?.token !== token) return;
    open.trial.timer.cancel();
    open.trial = null;
    if (end.kind === "passed") {
      this.#settle(known.way, token, { kind: "closed" });
      this.#close(known, open, true);
    } else if (
      end.kind === "ours" ||
      (end.kind === "blocked" && this.#isCustomersOwnBlock(known, open, end))
    ) {
      this.#settle(known.way, token, { kind: "returned" });
      this.#notifyThreads(openUpdateOf(known, open, false, this.#now()));
    } else this.#openAgain(known, open, token, end);
  }

  waitMs(site: string): number | null {
    let waitMs: number | null = null;
    for (const { open } of this.#records.openAtSite(site)) {
      if (open === null) continue;
      const leftMs = open.isTrialElsewhere ? 0 : open.dueAt - this.#now();
      const ownMs = leftMs > 0 ? leftMs : LIMITS.breaker.parkedTrialMs;
      waitMs = Math.min(waitMs ?? ownMs, ownMs);
    }
    return waitMs;
  }

  openByProvider(): Map<string, number> {
    return this.#records.openByProvider();
  }

  openNow(): BreakerNow[] {
    return this.#records.open().flatMap((record) => breakerNow(record, this.#now()));
  }

  #now(): number {
    return this.#deps.clock.monotonic();
  }

  #countBlock({ way, tally }: BreakerRecord, domain: string): void {
    const isFirst = tally.hasNoBlocks;
    tally.block(domain, this.#now());
    if (isFirst) this.#notifyThreads({ kind: "watched", key: keyOfScope(way) });
  }

  /** Opens the domain's own breaker when the site's trial may have met a list of that domain alone; false: the block is the site's. */
  #isCustomersOwnBlock(
    { way }: BreakerRecord,
    open: OpenBreaker,
    { domain, early, reply }: Extract<TrialEnd, { kind: "blocked" }>,
  ) {
    const { site, path, provider } = way;
    if (way.domain !== "" || (early && !CUSTOMERS_OWN_SERVERS.has(provider ?? ""))) return false;
    const { domainsOfProvider, domainsOfSite } = LIMITS.breaker;
    const blockedDomains = countBlockedDomain(open, domain, this.#now());
    if (blockedDomains >= (provider === null ? domainsOfSite : domainsOfProvider)) return false;
    const own = this.#records.remember({ site, path, domain, provider });
    if (own.open === null) this.#open(own, reply);
    else this.#openAgain(own, own.open, "", { kind: "blocked", domain, early, reply });
    return true;
  }

  #openAgain(known: BreakerRecord, open: OpenBreaker, token: string, end: TrialEnd): void {
    if (end.kind === "blocked") {
      open.level += 1;
      open.reply = end.reply;
    }
    open.blockedDomains.clear();
    open.dueAt = this.#now() + trialDelayMs(open.level, this.#deps);
    open.isTrialElsewhere = false;
    this.#settle(known.way, token, { kind: "open", ...localStateOf(open, this.#now()) });
    this.#notifyThreads(openUpdateOf(known, open, false, this.#now()));
    if (end.kind === "blocked") this.#emitChange("reopened", known, open, true);
  }

  /** Removes all state of the breaker in this process. */
  #drop(known: BreakerRecord): void {
    known.tally = new BlockTally();
    this.#notifyThreads({ kind: "calm", key: keyOfScope(known.way) });
    if (known.open === null) return;
    if (known.open.trial !== null) {
      const { timer, token } = known.open.trial;
      timer.cancel();
      this.#trials.delete(token);
      this.#settle(known.way, token, { kind: "returned" });
    }
    this.#records.setClosed(known);
    this.#notifyThreads({ kind: "closed", way: known.way });
  }

  #notifyThreads(news: BreakerUpdate): void {
    for (const mirror of this.#mirrors) mirror(news);
  }

  #emitChange(
    state: "opened" | "reopened" | "closed",
    known: BreakerRecord,
    open: OpenBreaker,
    mine: boolean,
  ): void {
    const { openForMs, dueInMs } = localStateOf(open, this.#now());
    this.#deps.onChange(state, { way: known.way, openForMs, dueInMs, reply: open.reply, isLocal: mine });
  }

  #open(known: BreakerRecord, reply: string): void {
    if (known.open !== null) return;
    const level = this.#now() < known.escalatesUntil ? known.level + 1 : 0;
    const dueInMs = trialDelayMs(level, this.#deps);
    const open = this.#setOpen(known, { level, openForMs: 0, dueInMs }, reply);
    this.#deps.store.open(known.way, { level, openForMs: 0, dueInMs }).then(
      ({ first, state }) => {
        if (!first && known.open === open) this.#adopt(known, state, false);
        this.#emitChange("opened", known, open, first);
      },
      (error: unknown) => {
        this.#noteStoreDown(error);
        this.#emitChange("opened", known, open, true);
      },
    );
  }

  /** Opens the breaker in this process. */
  #setOpen(known: BreakerRecord, state: ReportedBreakerState, reply: string): OpenBreaker {
    const open = createOpenBreaker(state, reply, this.#now());
    this.#records.setOpen(known, open);
    const { site, path, domain } = known.way;
    // The site's breaker covers each domain's.
    if (domain === "")
      for (const other of [...this.#records.openAtSite(site)])
        if (other !== known && other.way.path === path) this.#drop(other);
    this.#notifyThreads(openUpdateOf(known, open, true, this.#now()));
    this.#keepSweeping();
    return open;
  }

  /** Takes over the state from the store, except during a trial of this process: only the trial's end counts then. */
  #adopt(known: BreakerRecord, state: OpenBreakerState, isNew: boolean): void {
    const { open } = known;
    if (open === null || open.trial !== null) return;
    applyState(open, state, this.#now());
    this.#notifyThreads(openUpdateOf(known, open, isNew, this.#now()));
  }

  #close(known: BreakerRecord, open: OpenBreaker, mine: boolean): void {
    known.level = open.level;
    known.escalatesUntil = this.#now() + Math.max(LIMITS.breaker.maxMs, this.#deps.firstMs);
    this.#drop(known);
    if (known.way.domain !== "") this.onPassed(known.way.site, known.way.path, known.way.domain);
    this.#emitChange("closed", known, open, mine);
  }

  #onRemoteState(way: BreakerScope, state: OpenBreakerState | null): void {
    if (this.#closed) return;
    if (state === null) {
      const known = this.#records.openByKey(keyOfScope(way));
      if (known?.open) this.#close(known, known.open, false);
      else this.#deps.onFreed(way);
      return;
    }
    const known = this.#records.remember(way);
    if (known.open !== null) this.#adopt(known, state, false);
    else this.#emitChange("opened", known, this.#setOpen(known, state, ""), false);
  }

  /** Another process may have opened it before this one began to listen. */
  #refresh(known: BreakerRecord, reply: string): void {
    if (this.#now() - known.refreshedAt < LIMITS.breaker.lookEveryMs) return;
    known.refreshedAt = this.#now();
    this.#deps.store.read(known.way).then(
      (state) => {
        if (state === null || known.open !== null || this.#closed) return;
        this.#emitChange("opened", known, this.#setOpen(known, state, reply), false);
      },
      (error: unknown) => this.#noteStoreDown(error),
    );
  }

  /** null: the store does not answer, and the process decides alone. */
  async #take(way: BreakerScope, token: string, mine: LocalBreakerState) {
    try {
      return await this.#deps.store.takeTrial(way, token, mine);
    } catch (error) {
      this.#noteStoreDown(error);
      return null;
    }
  }

  #settle(way: BreakerScope, token: string, settlement: TrialSettlement): void {
    this.#deps.store
      .settleTrial(way, token, settlement)
      .catch((error: unknown) => this.#noteStoreDown(error));
  }

  #noteStoreDown(error: unknown): void {
    this.#deps.log.debug({ err: error }, "the breakers of the egress are not shared at present");
  }

  #keepSweeping(): void {
    if (this.#closed) return;
    this.#sweeper ??= this.#deps.clock.after(LIMITS.breaker.sweepMs, () => {
      this.#sweeper = null;
      const before = this.#now() - LIMITS.breaker.forgetMs;
      for (const known of this.#records.open())
        if (known.open !== null && known.open.trial === null && known.open.dueAt < before) this.#drop(known);
      if (this.#records.open().length > 0) this.#keepSweeping();
    });
  }
}

export function createBreakerAuthority(deps: BreakerAuthorityDeps): BreakerAuthority {
  return new Authority(deps);
}

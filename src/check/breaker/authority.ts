import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import { type Known, KnownWays, type Open } from "./known.ts";
import type { Block, BreakerNews, TrialEnd } from "./messages.ts";
import type { BreakerStore, OpenState, OwnState, Settlement } from "./store.ts";
import { Tally } from "./tally.ts";
import { keyOf, type Way, wayKey } from "./way.ts";

/**
 * The circuit breakers of a process, in its main thread, shared with the other processes of its egress.
 *
 * Closed → *open* when the answers of a way say that we are blocked there (`tally.ts`); each process counts for itself, so that
 * n of them may meet n times as many blocks, but what one opens is open to all. Open → a *trial* after the first time, then
 * after twice as long each time, with some chance in it: one probe in the whole egress, whichever wants to go there first. It
 * is let through → closed; blocked again → open for longer; it tells nothing → open for as long again; it was not put, for
 * reasons of ours, or its thread died → the next one may go at once. Other probes that were in flight when it opened change
 * nothing. Who blocks us again soon after a recovery is left alone for as long as before and longer.
 *
 * Without the store a process keeps its breakers for itself; when it is back, the next trial tells it what is open here.
 * A process that comes late, or was cut off, learns of an open breaker by the first block it meets.
 */
export interface BreakerAuthority {
  /** Begins to follow the other processes. */
  start(): void;
  /** Gives back the trials under way. Never rejects. */
  close(): Promise<void>;
  /** Tells `mirror` what there is, and all that comes. @returns how to end it */
  attach(mirror: (news: BreakerNews) => void): () => void;
  blocked(block: Block): void;
  passed(site: string, path: string): void;
  /** The trial of an open way, for one at a time. */
  seekTrial(key: string): Promise<TrialGrant>;
  /** A token counts once. */
  tried(token: string, end: TrialEnd): void;
  /** How long rows should wait that found the site's breaker open; null: none of the site is open. */
  waitMs(site: string): number | null;
  /** Breakers that are open as far as this process knows, by provider; "other" for none. */
  openByProvider(): Map<string, number>;
}

/** `free`: the way is closed meanwhile. No token: ask again after `dueInMs`. */
export interface TrialGrant {
  token: string | null;
  free: boolean;
  dueInMs: number;
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
    const known = this.#ways.of({ site, path, domain: "", provider });
    const isFirst = known.tally.isPristine;
    known.tally.block(early ? "" : domain);
    if (isFirst) this.#tell({ kind: "watched", key: keyOf(known.way) });
    const scope = known.tally.scope(provider !== null);
    if (scope !== null) {
      this.#openWay(this.#ways.of({ ...known.way, domain: scope.domain }), reply);
      return;
    }
    this.#look(known, reply);
    if (provider !== null) this.#look(this.#ways.of({ ...known.way, domain }), reply);
  }

  passed(site: string, path: string): void {
    const known = this.#ways.get(wayKey(site, path));
    if (known === undefined || known.open !== null || known.tally.isPristine) return;
    known.tally.pass();
    if (known.tally.isPristine) this.#tell({ kind: "calm", key: keyOf(known.way) });
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
      return;
    }
    if (end.kind === "ours") this.#settle(known.way, token, { kind: "returned" });
    else {
      if (end.kind === "blocked") {
        open.level += 1;
        open.reply = end.reply;
      }
      open.dueAt = this.#now() + this.#delayMs(open.level);
      this.#settle(known.way, token, { kind: "open", ...this.#own(open) });
    }
    this.#tell(this.#openNews(known, open, false));
    if (end.kind === "blocked") this.#say("reopened", known, open, true);
  }

  waitMs(site: string): number | null {
    let waitMs: number | null = null;
    for (const { way, open } of this.#ways.open()) {
      if (way.site !== site || open === null) continue;
      const leftMs = open.dueAt - this.#now();
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

  /** As if nothing had been, as far as this process is concerned. */
  #drop(known: Known): void {
    known.tally = new Tally();
    this.#tell({ kind: "calm", key: keyOf(known.way) });
    if (known.open === null) return;
    if (known.open.trial !== null) {
      known.open.trial.timer.cancel();
      this.#trials.delete(known.open.trial.token);
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
  #place(known: Known, { level, openForMs, dueInMs }: OwnState, reply: string): Open {
    const now = this.#now();
    const open: Open = {
      sinceMs: now - openForMs,
      dueAt: now + dueInMs,
      level,
      reply,
      trial: null,
      asking: false,
    };
    this.#ways.setOpen(known, open);
    const { site, path, domain } = known.way;
    // What is true of all the site needs no trials domain by domain.
    if (domain === "")
      for (const other of this.#ways.open())
        if (other !== known && other.way.site === site && other.way.path === path) this.#drop(other);
    this.#tell(this.#openNews(known, open, true));
    this.#keepSweeping();
    return open;
  }

  /** What the store says goes, but of a trial of ours that is under way only its end tells. */
  #adopt(known: Known, state: OwnState, isNew: boolean): void {
    const { open } = known;
    if (open === null || open.trial !== null) return;
    open.level = state.level;
    open.sinceMs = this.#now() - state.openForMs;
    open.dueAt = this.#now() + state.dueInMs;
    this.#tell(this.#openNews(known, open, isNew));
  }

  #closeWay(known: Known, open: Open, mine: boolean): void {
    known.level = open.level;
    known.warnedUntil = this.#now() + Math.max(LIMITS.breaker.maxMs, this.#deps.firstMs);
    this.#drop(known);
    if (known.way.domain !== "") this.passed(known.way.site, known.way.path);
    this.#say("closed", known, open, mine);
  }

  #heard(way: Way, state: OpenState | null): void {
    if (this.#closed) return;
    const known = state === null ? this.#ways.get(keyOf(way)) : this.#ways.of(way);
    if (known === undefined) return;
    if (state === null) {
      if (known.open !== null) this.#closeWay(known, known.open, false);
    } else if (known.open !== null) this.#adopt(known, state, false);
    else if (way.domain === "" || this.#ways.openBy(wayKey(way.site, way.path)) === undefined) {
      const open = this.#place(known, state, "");
      this.#say("opened", known, open, false);
    }
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

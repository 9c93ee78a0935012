import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { BehaviourUpdate, LearnedBehaviour } from "./messages.ts";

/** A learned behaviour of a site, or that it was dropped, as processes share it. Epoch milliseconds. */
export interface SharedBehaviour {
  site: string;
  habit: LearnedBehaviour | null;
  sinceMs: number;
  untilMs: number;
}

export interface BehaviourStore {
  /** All that are not over. Rejects when the store does not answer. */
  load(): Promise<SharedBehaviour[]>;
  put(behaviour: SharedBehaviour): Promise<void>;
}

export interface BehaviourEvent {
  site: string;
  habit: LearnedBehaviour;
  /** false: it fell. */
  isLearned: boolean;
  /** Number of addresses, or of domains with catch-all probes, that it is based on; 0: another process has them. */
  basis: number;
}

export interface KnownBehavioursDeps {
  clock: Clock;
  log: Logger;
  store: BehaviourStore;
  /** True for the site of a named provider. */
  isProvider(site: string): boolean;
  onChange(event: BehaviourEvent): void;
  /** Drops the counts towards a behaviour of a site. */
  forget: { refusals(site: string): unknown; acceptedProbes(site: string): unknown };
}

const { sites, behaviours: keptMax, heldMs, controlEveryMs, syncEveryMs } = LIMITS.learnedBehaviour;

/**
 * The behaviours that hold at present: their bounds in number and time, the check threads that receive each change, and the
 * exchange with the other processes of the egress.
 */
export class KnownBehaviours {
  readonly #deps: KnownBehavioursDeps;
  readonly #bySite = new Map<string, SharedBehaviour>();
  /** `Clock.monotonic` time until which no behaviour is learned, since one was dropped. */
  readonly #fallen = new LRUCache<string, number>({ max: sites });
  readonly #listeners = new Set<(news: BehaviourUpdate) => void>();
  #timer: Timer | null = null;

  constructor(deps: KnownBehavioursDeps) {
    this.#deps = deps;
  }

  of(site: string): LearnedBehaviour | null {
    const known = this.#bySite.get(site);
    return known !== undefined && known.untilMs > this.#deps.clock.now() ? known.habit : null;
  }

  /** Sites that something is known of. */
  get size(): number {
    return this.#bySite.size;
  }

  /** Sites by habit. */
  counts(): Record<LearnedBehaviour, number> {
    const counts = { accepts_all: 0, refuses_all: 0 };
    for (const site of this.#bySite.keys()) {
      const habit = this.of(site);
      if (habit !== null) counts[habit] += 1;
    }
    return counts;
  }

  isFallen(site: string): boolean {
    return (this.#fallen.get(site) ?? Number.NEGATIVE_INFINITY) > this.#deps.clock.monotonic();
  }

  /** Shared with other processes. @param habit null: the known behaviour was dropped */
  learn(site: string, habit: LearnedBehaviour | null, basis: number): void {
    const { clock, log, store } = this.#deps;
    const sinceMs = clock.now();
    const behaviour = { site, habit, sinceMs, untilMs: sinceMs + heldMs };
    this.#set(behaviour, basis);
    store
      .put(behaviour)
      .catch((error: unknown) => log.debug({ err: error }, "a learned behaviour could not be shared"));
  }

  #set(behaviour: SharedBehaviour, basis: number): void {
    const { clock, forget, onChange } = this.#deps;
    const { site, habit } = behaviour;
    const before = this.of(site);
    this.#bySite.delete(site);
    this.#bySite.set(site, behaviour);
    if (this.#bySite.size > keptMax)
      for (const oldest of [...this.#bySite.keys()].slice(0, 1)) this.#end(oldest);
    if (before === habit) return;
    forget.refusals(site);
    if (habit === null) {
      forget.acceptedProbes(site);
      this.#fallen.set(site, clock.monotonic() + controlEveryMs);
    }
    this.#tell({ kind: "habit", site, habit });
    if (before !== null) onChange({ site, habit: before, isLearned: false, basis });
    if (habit !== null) onChange({ site, habit, isLearned: true, basis });
  }

  /** Removes a behaviour that expired, or that has no room. Other processes are not notified. */
  #end(site: string): void {
    const habit = this.#bySite.get(site)?.habit ?? null;
    this.#bySite.delete(site);
    this.#deps.forget.acceptedProbes(site);
    if (habit === null) return;
    this.#tell({ kind: "habit", site, habit: null });
    this.#deps.onChange({ site, habit, isLearned: false, basis: 0 });
  }

  #tell(news: BehaviourUpdate): void {
    for (const send of this.#listeners) send(news);
  }

  /** Calls back with each behaviour there is, and with each that forms or falls. @returns ends it */
  attach(send: (news: BehaviourUpdate) => void): () => void {
    this.#listeners.add(send);
    for (const site of this.#bySite.keys()) {
      const habit = this.of(site);
      if (habit !== null) send({ kind: "habit", site, habit });
    }
    return () => this.#listeners.delete(send);
  }

  start(): void {
    this.#syncLater();
    void this.#sync();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #syncLater(): void {
    this.#timer = this.#deps.clock.after(syncEveryMs, () => {
      void this.#sync().finally(() => this.#timer !== null && this.#syncLater());
    });
  }

  async #sync(): Promise<void> {
    const { clock, log, store } = this.#deps;
    for (const [site, { untilMs }] of this.#bySite) if (untilMs <= clock.now()) this.#end(site);
    try {
      for (const theirs of await store.load()) if (this.#isNews(theirs)) this.#set(theirs, 0);
    } catch (error) {
      log.debug({ err: error }, "learned behaviours of other processes could not be read");
    }
  }

  #isNews({ site, habit, sinceMs }: SharedBehaviour): boolean {
    if (habit !== null && (this.#deps.isProvider(site) || this.isFallen(site))) return false;
    return sinceMs > (this.#bySite.get(site)?.sinceMs ?? Number.NEGATIVE_INFINITY);
  }
}

import {
  type BreakerAuthority,
  type BreakerEvent,
  createBreakerAuthority,
} from "../../src/egress/breaker/authority.ts";
import { type Breaker, createBreaker } from "../../src/egress/breaker/mirror.ts";
import type { BreakerScope } from "../../src/egress/breaker/scope.ts";
import type { BreakerStore } from "../../src/egress/breaker/store.ts";
import { attachBreakerThread, type BreakerThread } from "../../src/egress/breaker/thread-end.ts";
import type { Clock } from "../../src/platform/time/clock.ts";
import { silentLog } from "./store.ts";

export const FIRST_MS = 60_000;

const away = () => Promise.reject(new Error("no store here"));

/** A store that fails as if Redis were down. */
export const NO_STORE: BreakerStore = {
  open: away,
  read: away,
  takeTrial: away,
  settleTrial: away,
  listen: () => {},
};

export interface LocalBreakers {
  authority: BreakerAuthority;
  /** "opened example.com direct", in order. */
  changes: string[];
  events: BreakerEvent[];
  /** Sites whose breakers another process closed and that were not open here. */
  freed: string[];
}

/** The breakers of one process. By default it shares them with no other process, and adds no random delay. */
export function createLocalBreakers(clock: Clock, store: BreakerStore = NO_STORE): LocalBreakers {
  const changes: string[] = [];
  const events: BreakerEvent[] = [];
  const freed: string[] = [];
  const authority = createBreakerAuthority({
    clock,
    log: silentLog,
    store,
    firstMs: FIRST_MS,
    random: () => 0,
    onChange(state, event) {
      const { site, path, domain } = event.way;
      changes.push([state, site, path, ...(domain === "" ? [] : [domain])].join(" "));
      events.push(event);
    },
    onFreed: ({ site }) => void freed.push(site),
  });
  authority.start();
  return { authority, changes, events, freed };
}

/** A check thread's breakers, whose messages arrive at once. */
export function createLocalMirror(authority: BreakerAuthority, clock: Clock) {
  const held: BreakerScope[] = [];
  let thread: BreakerThread | undefined;
  const reports: string[] = [];
  const breaker: Breaker = createBreaker({
    clock,
    port: {
      report(report) {
        reports.push(report.type);
        thread?.receive(report);
      },
      listen(listener) {
        thread = attachBreakerThread(authority, listener);
      },
    },
    holdBack: (way) => void held.push(way),
  });
  return { breaker, held, reports, die: () => thread?.close() };
}

import type { Clock } from "../../platform/time/clock.ts";
import type { LearnedSiteLimits } from "../session/learned-site-limits.ts";
import type { Session, SessionHandler } from "../session/session.ts";
import type { SessionTraffic } from "../session/session-traffic.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import type { SitePolicy, TlsPolicy } from "../wire/policy.ts";
import type { ThreadSlotSource } from "./slots.ts";

/** What an `MxHost` needs of its pool. */
export interface MxHostDeps {
  site: string;
  /** Slot key that its connections count against. */
  cap: string;
  /** Name of the egress route to the address. */
  routeName: string;
  policy: SitePolicy;
  clock: Clock;
  slots: ThreadSlotSource;
  /**
   * Bound of sessions per thread: `take` returns false when the thread is full, and calls `schedulePump` once there is room;
   * each granted `take` is followed by one `give`.
   */
  room: { take(waiting: { schedulePump(): void }): boolean; give(): void };
  dial(tls: TlsPolicy, handler: SessionHandler): Session;
  /** Limits learned from the site's servers; its other hosts share them. */
  learned: LearnedSiteLimits;
  /** Counters of the sessions' writes. */
  traffic: SessionTraffic;
  onOpened(): void;
  /** The server refuses this many connections. */
  onCrowded(): void;
  onClosed(end: SessionEnd, wasReady: boolean): void;
}

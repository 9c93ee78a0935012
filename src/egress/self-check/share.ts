import type { KnownExchanger } from "./exchangers.ts";
import type { RouteReport } from "./report.ts";

/** The self-check of one process, for all processes of the egress with the same routes. Plain data. */
export interface SharedSelfCheck {
  /** Layout. */
  v: 1;
  exchangers: KnownExchanger[];
  reports: RouteReport[];
}

/**
 * Shares self-checks between the processes of an egress with the same routes. All methods reject when the store is
 * unreachable.
 */
export interface SelfCheckShare {
  /** null: nothing readable is stored. */
  read(): Promise<SharedSelfCheck | null>;
  /** True: this process checks, and no other one for `ms`, unless it calls this again. */
  acquireLead(ms: number): Promise<boolean>;
  publish(look: SharedSelfCheck): Promise<void>;
}

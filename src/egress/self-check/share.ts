import type { KnownExchanger } from "./exchangers.ts";
import type { RouteReport } from "./report.ts";

/** What one process of an egress found, for all whose ways out are the same. Plain data. */
export interface SharedSelfCheck {
  /** Layout. */
  v: 1;
  exchangers: KnownExchanger[];
  reports: RouteReport[];
}

/** Where processes of an egress with the same ways tell each other what they found. All reject when it is away. */
export interface SelfCheckShare {
  /** null: nothing that can be read. */
  read(): Promise<SharedSelfCheck | null>;
  /** True: this process looks, and no other one for `ms`, unless it calls this again. */
  acquireLead(ms: number): Promise<boolean>;
  publish(look: SharedSelfCheck): Promise<void>;
}

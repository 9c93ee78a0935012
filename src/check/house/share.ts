import type { Exchanger } from "./exchangers.ts";
import type { WayReport } from "./report.ts";

/** What one process of an egress found, for all whose ways out are the same. Plain data. */
export interface SharedLook {
  /** Layout. */
  v: 1;
  exchangers: Exchanger[];
  reports: WayReport[];
}

/** Where processes of an egress with the same ways tell each other what they found. All reject when it is away. */
export interface HouseShare {
  /** null: nothing that can be read. */
  read(): Promise<SharedLook | null>;
  /** True: it is this process that looks, and nobody else for `ms`, unless it says so anew. */
  lead(ms: number): Promise<boolean>;
  tell(look: SharedLook): Promise<void>;
}

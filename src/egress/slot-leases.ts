/**
 * How the processes of one egress share the connection slots of a site. A process *states* how many it holds, which is the
 * truth, and requests more in the same statement. To give back is to state less, to renew is to state the same. So the next
 * statement repairs a lost answer, an emptied store, or a process that was thought dead.
 */
export interface SlotStatement {
  site: string;
  /** Slots this process holds, used or not. */
  held: number;
  /** Further slots that it can use, at most `max - held`. */
  want: number;
  /** Cap of the site over all processes. */
  max: number;
  /** Joins the queue when it does not get all it wants: processes that queued before it are served first. */
  waiting: boolean;
  /** When it does not get all it wants, the other holders are notified. */
  announce: boolean;
}

export interface SlotAnswer {
  /** At most `want`; one at a time while other processes are queued. */
  granted: number;
  /** This process's part of the slots held above `max`: it should give back that many. */
  excess: number;
}

/** Reports from other processes of the egress. */
export interface SlotListener {
  /** A process that holds `holds` slots of `site` waits for one more. */
  onWanted(site: string, holds: number): void;
  /** A slot of `site` came free while a process was queued for it. */
  onFreed(site: string): void;
}

export interface SlotLeases {
  /** One answer a statement, in order. At most LIMITS.slots.sitesPerCall; rejects when the store does not answer. */
  report(statements: readonly SlotStatement[]): Promise<SlotAnswer[]>;
  /** Follows the other processes from now on, whenever the store can be reached. */
  listen(listener: SlotListener): void;
}

/**
 * How the processes of one egress share the connection slots of a site. A process *states* how many it holds, which is
 * the truth, and asks for more in the same breath; to give back is to state less, to renew is to state the same. So a
 * lost answer, an emptied store or a process that was thought dead is put right by the next statement.
 */
export interface SlotStatement {
  site: string;
  /** Slots this process holds, used or not. */
  held: number;
  /** Further ones it has use for, at most `max - held`. */
  want: number;
  /** Cap of the site over all processes. */
  max: number;
  /** Queues when it does not get all it wants: processes that queued before it are served first. */
  waiting: boolean;
  /** When it does not get all it wants, the other holders are notified. */
  announce: boolean;
}

export interface SlotAnswer {
  /** At most `want`; one at a time where others stand in line too. */
  granted: number;
  /** This process's part of what all hold above `max`: as much should go back. */
  excess: number;
}

/** What other processes of the egress say. */
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

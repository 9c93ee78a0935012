/** Slots that a task holds. */
export interface HeldRowSlots {
  /** Gives back all but `count` of them; nothing when it holds fewer. */
  shrinkTo(count: number): void;
}

/** Slots for `slots` concurrent rows. Requests are served in order, so that one for many slots is not starved. */
export interface RowSlots {
  /**
   * Resolves when they are free; a request for more than exist gets all. The holder must give them back with `shrinkTo(0)`.
   */
  acquire(count: number): Promise<HeldRowSlots>;
}

export function createRowSlots(slots: number): RowSlots {
  const waiting: { count: number; begin(): void }[] = [];
  let free = slots;

  function admit(): void {
    for (let next = waiting[0]; next !== undefined && next.count <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.count;
      next.begin();
    }
  }

  function hold(count: number): HeldRowSlots {
    let held = count;
    return {
      shrinkTo(left) {
        if (left >= held) return;
        free += held - left;
        held = left;
        admit();
      },
    };
  }

  return {
    acquire(wanted) {
      const count = Math.min(wanted, slots);
      return new Promise((resolve) => {
        waiting.push({ count, begin: () => resolve(hold(count)) });
        admit();
      });
    },
  };
}

/** Places that a task has taken. */
export interface HeldRowSlots {
  /** Gives back all but `count` of them; nothing when it holds fewer. */
  shrinkTo(count: number): void;
}

/** Slots for so many rows at once. Requests are served in order, so that one for many slots is not passed over for ever. */
export interface RowSlots {
  /** Resolves when they are free; a request for more than there are gets all. They are to be given back by `shrinkTo(0)`. */
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

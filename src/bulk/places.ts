/** Places that a task has taken. */
export interface HeldPlaces {
  /** Gives back all but `count` of them; nothing when it holds fewer. */
  keep(count: number): void;
}

/** Places for so many rows at once. Who asks is served in turn, so that who needs many is not passed over for ever. */
export interface Places {
  /** Resolves when they are free; who asks for more than there are gets all. They are to be given back by `keep(0)`. */
  take(count: number): Promise<HeldPlaces>;
  /** The same of who waits for nobody; null: they are not free, or others wait for theirs. */
  tryTake(count: number): HeldPlaces | null;
}

export function createPlaces(places: number): Places {
  const waiting: { count: number; begin(): void }[] = [];
  let free = places;

  function admit(): void {
    for (let next = waiting[0]; next !== undefined && next.count <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.count;
      next.begin();
    }
  }

  function hold(count: number): HeldPlaces {
    let held = count;
    return {
      keep(left) {
        if (left >= held) return;
        free += held - left;
        held = left;
        admit();
      },
    };
  }

  return {
    take(wanted) {
      const count = Math.min(wanted, places);
      return new Promise((resolve) => {
        waiting.push({ count, begin: () => resolve(hold(count)) });
        admit();
      });
    },
    tryTake(wanted) {
      const count = Math.min(wanted, places);
      if (waiting.length > 0 || count > free) return null;
      free -= count;
      return hold(count);
    },
  };
}

import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";

/** Rows that were let in, and how many of them are still without an answer. */
export interface Place {
  left(): number;
}

interface Applicant {
  rows: number;
  resolve(place: Place | null): void;
}

/**
 * Room for so many rows without an answer. Who comes first is let in first, also when it needs more than those behind
 * it; one that needs more than all the room is let in alone.
 */
export interface Room {
  /** @returns null when `halted` was aborted before there was room */
  enter(rows: number, halted: AbortSignal): Promise<Place | null>;
  leave(place: Place): void;
}

export function createRoom(clock: Clock, rowsAtOnce: number): Room {
  const places = new Set<Place>();
  const line: Applicant[] = [];
  let looking = false;

  function used(): number {
    let rows = 0;
    for (const place of places) rows += place.left();
    return rows;
  }

  function admit(): void {
    for (let first = line[0]; first !== undefined; first = line[0]) {
      const others = used();
      if (others > 0 && others + first.rows > rowsAtOnce) break;
      const { rows } = first;
      const place: Place = { left: () => rows };
      places.add(place);
      line.shift();
      first.resolve(place);
    }
    if (line.length > 0) lookAgain();
  }

  /** Rows get their answers in other threads, which tell nobody until their batch is through. */
  function lookAgain(): void {
    if (looking) return;
    looking = true;
    clock.after(LIMITS.bulk.roomLookMs, () => {
      looking = false;
      admit();
    });
  }

  return {
    enter(rows, halted) {
      if (halted.aborted) return Promise.resolve(null);
      return new Promise((resolve) => {
        const leaveLine = () => {
          line.splice(line.indexOf(applicant), 1);
          resolve(null);
          admit();
        };
        const applicant: Applicant = {
          rows,
          resolve(place) {
            halted.removeEventListener("abort", leaveLine);
            resolve(place);
          },
        };
        halted.addEventListener("abort", leaveLine, { once: true });
        line.push(applicant);
        admit();
      });
    },
    leave(place) {
      places.delete(place);
      admit();
    },
  };
}

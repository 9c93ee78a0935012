import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { RowAnswer, StayTime } from "./row-verifier.ts";

/** A chunk that stays: for a moment, and for its whole time where rows are answered meanwhile. */
export interface Stay extends StayTime {
  /** Its rows are written, or in hand no more. Follows its begin once. */
  end(): void;
}

/**
 * Chunks that stay for their rows at busy sites. In a list that is sorted by domain nearly all rows of a chunk find the few connections
 * of their site in use. As retries they would be tasks of their own: rows and pointers of them, statements, a shard and
 * a patch of the results each; and of eight processes seven in eight retries would come to one that has to read the chunk anew and
 * to open the connection anew that the first has. So the chunk asks them once more itself, in line at their sites, as
 * their retries would, and what has no answer when its time is over becomes a retry. (Eight processes, 400 sites of a connection each,
 * by turns: 363 µs of the machine a row, 224 with stays and with chunks that end where a domain does.)
 *
 * It stays in nobody's way: another has its place in the lane meanwhile, stays are bounded so that a job's window has chunks left for
 * that, and at a site where some stay already the others' rows become retries, which the window of the site paces for all jobs. So do
 * those for which there are no places at once. Where nothing at all is answered it leaves sooner: sites that are dead are retries' to wait for.
 */
export interface Stays {
  /**
   * @param rows of the chunk
   * @returns null: there are enough, of all, of the job or at one of the sites, or of rows
   */
  begin(jobId: string, sites: readonly string[], rows: number): Stay | null;
  /** Those that stay leave at their next look. */
  leave(): void;
  /** The same, and nobody stays any more. */
  close(): void;
}

interface Staying extends Stay {
  untilMs: number;
  jobId: string;
  rows: number;
}

/** @param queueMaxMs how long rows at busy sites may wait at all */
export function createStays(clock: Pick<Clock, "monotonic">, queueMaxMs: number): Stays {
  const { staysAtOnce, staysPerJob, staysPerSite, stayingRows, stayMs, stayQuietMs } = LIMITS.bulk;
  const under = new Set<Staying>();
  const at = new Map<string, number>();
  let rowsHeld = 0;
  let closed = false;

  function count(sites: readonly string[], change: 1 | -1): void {
    for (const site of sites) {
      const now = (at.get(site) ?? 0) + change;
      if (now === 0) at.delete(site);
      else at.set(site, now);
    }
  }

  function ofJob(jobId: string): number {
    let staying = 0;
    for (const stay of under) if (stay.jobId === jobId) staying += 1;
    return staying;
  }

  function leave(): void {
    for (const stay of under) stay.untilMs = Number.NEGATIVE_INFINITY;
  }

  return {
    begin(jobId, sites, rows) {
      if (closed || under.size >= staysAtOnce || ofJob(jobId) >= staysPerJob) return null;
      if (rowsHeld + rows > stayingRows) return null;
      if (sites.some((site) => (at.get(site) ?? 0) >= staysPerSite)) return null;
      const begunMs = clock.monotonic();
      const stay: Staying = {
        jobId,
        rows,
        untilMs: begunMs + Math.min(stayQuietMs, queueMaxMs),
        heard() {
          if (stay.untilMs > Number.NEGATIVE_INFINITY) stay.untilMs = begunMs + Math.min(stayMs, queueMaxMs);
        },
        end() {
          under.delete(stay);
          // What is still asked for it, where one of its sites threw, ends too.
          stay.untilMs = Number.NEGATIVE_INFINITY;
          rowsHeld -= rows;
          count(sites, -1);
        },
      };
      under.add(stay);
      rowsHeld += rows;
      count(sites, 1);
      return stay;
    },
    leave,
    close() {
      closed = true;
      leave();
    },
  };
}

/**
 * Rows whose site was busy, by site, as places among the answers.
 * @param rows of the chunk, those among them whose answers were at hand
 * @returns null: too few of them, or at too many sites, for the others' answers to be written later
 */
export function sitesToStayAt(answers: readonly RowAnswer[], rows: number): Map<string, number[]> | null {
  const { retryRowsPerSite, stayShare, staySites } = LIMITS.bulk;
  const sites = new Map<string, number[]>();
  let busy = 0;
  for (const [place, { wait }] of answers.entries()) {
    if (wait === undefined || wait.reason !== "busy" || wait.site === "") continue;
    busy += 1;
    const known = sites.get(wait.site);
    if (known === undefined) sites.set(wait.site, [place]);
    else known.push(place);
  }
  const isEnough = busy >= Math.max(retryRowsPerSite, stayShare * rows);
  return isEnough && sites.size <= staySites ? sites : null;
}

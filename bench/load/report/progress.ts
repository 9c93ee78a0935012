import type { BulkDriver } from "../bulk.ts";
import type { Loop } from "../sender.ts";
import type { Tally, TimelinePoint } from "../tally.ts";
import { writeCount, writeLatency } from "../units.ts";

/** Stream for lines about the run in progress. */
export interface ProgressStream {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  write(text: string): unknown;
}

export interface Progress {
  /** Called once a second. */
  tick(point: TimelinePoint): void;
  /** Leaves the terminal's line. */
  end(): void;
}

interface Watched {
  tally: Tally;
  loop: Loop | null;
  bulk: BulkDriver | null;
}

/** Interval in seconds on a stream that is no terminal: a log does not need a line a second. */
const PLAIN_EVERY = 5;
const CLEAR_LINE = "\r\u001b[K";

export function progressLine({ s, sent, answered, p50Us, p99Us }: TimelinePoint, watched: Watched): string {
  const { tally, loop, bulk } = watched;
  const { measured, warmUp } = tally;
  const parts = [`${Math.round(s)} s`];
  if (loop !== null) {
    parts.push(`${writeCount(sent)} sent, ${writeCount(answered)} answered`);
    if (p50Us !== null && p99Us !== null)
      parts.push(`p50 ${writeLatency(p50Us)}, p99 ${writeLatency(p99Us)}`);
    parts.push(`${writeCount(loop.inFlight)} under way`);
    if (loop.waiting > 0) parts.push(`${writeCount(loop.waiting)} waiting`);
  }
  const failed = measured.failed + warmUp.failed;
  if (failed > 0) parts.push(`${writeCount(failed)} failed`);
  const unsent = measured.unsent + warmUp.unsent;
  if (unsent > 0) parts.push(`${writeCount(unsent)} unsent`);
  const refused = Object.entries(tally.statuses.view()).filter(([status]) => !status.startsWith("2"));
  for (const [status, count] of refused) parts.push(`${writeCount(count)} × ${status}`);
  if (bulk !== null)
    parts.push(`bulk: ${bulk.underWay} under way, ${writeCount(bulk.processed)} rows answered`);
  return parts.join(" | ");
}

export function createProgress(stream: ProgressStream, watched: Watched): Progress {
  let ticks = 0;
  return {
    tick(point) {
      ticks += 1;
      const line = progressLine(point, watched);
      if (stream.isTTY === true)
        stream.write(CLEAR_LINE + line.slice(0, Math.max(20, (stream.columns ?? 100) - 1)));
      else if (ticks % PLAIN_EVERY === 0) stream.write(`${line}\n`);
    },
    end() {
      if (stream.isTTY === true) stream.write(CLEAR_LINE);
    },
  };
}

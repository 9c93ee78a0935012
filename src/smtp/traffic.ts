import { DurationSeries, PROBE_SECONDS } from "../core/durations.ts";

/**
 * What sessions have written, as plain numbers that a session raises once a write, however many transactions are in it.
 * Several sites may share one.
 */
export class Traffic {
  /** That came to an end, answered or not. */
  transactions = 0;
  /** Of those, in pipelined writes. */
  groups = 0;
  /** Pipelined ones. */
  writes = 0;
  /** From MAIL to the answer, of transactions that were answered; those of a write count when its last one is. */
  readonly answered = new DurationSeries(PROBE_SECONDS);
}

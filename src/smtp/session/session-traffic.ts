import { DurationSeries, PROBE_BUCKETS_S } from "../../config/durations.ts";

/**
 * Counts of sessions' writes, as plain numbers. A session updates them once a write, for any number of transactions.
 * Several sites may share one.
 */
export class SessionTraffic {
  /** Finished transactions, answered or not. */
  transactions = 0;
  /** Finished transactions in pipelined writes. */
  groups = 0;
  /** Pipelined writes. */
  writes = 0;
  /** Durations from MAIL to the answer, of answered transactions; those of a write count when its last one is answered. */
  readonly answered = new DurationSeries(PROBE_BUCKETS_S);
}

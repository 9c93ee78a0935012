import { LIMITS } from "./bounds.ts";
import { Latencies } from "./latency.ts";
import type { FailureCause, Outcome } from "./outcome.ts";

/** Kinds of single requests; each request is of one kind. */
export const KINDS = ["repeated", "new", "evidence", "refresh"] as const;
export type Kind = (typeof KINDS)[number];

/** A request that is due. Times are monotonic milliseconds. */
export interface Planned {
  kind: Kind;
  path: string;
  /** When it was due. An open loop measures from here, even if it had to wait for a connection. */
  intendedMs: number;
  /** Before the end of the warm-up: counted, never measured. */
  isWarmUp: boolean;
}

export interface Sent extends Planned {
  sentMs: number;
}

/** planned = sent + unsent + heldBack; sent = answered + failed + cut, once the run is over. */
export interface Counts {
  planned: number;
  sent: number;
  answered: number;
  failed: number;
  /** Still in flight when the run was over. */
  cut: number;
  /** No connection was free, and the backlog was full or the run over. */
  unsent: number;
  /** Not sent since the server had asked for a pause. */
  heldBack: number;
}

const noCounts = (): Counts => ({
  planned: 0,
  sent: 0,
  answered: 0,
  failed: 0,
  cut: 0,
  unsent: 0,
  heldBack: 0,
});

/** Counts by name, of a bounded number of names. */
export class Names {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    const known = this.#counts.has(name) || this.#counts.size < LIMITS.names;
    const key = known ? name : "other";
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  view(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([, a], [, b]) => b - a));
  }
}

/** Counts of one second of the run. */
interface Second {
  sent: number;
  answered: number;
  ok: number;
  failed: number;
}

export interface TimelinePoint extends Second {
  /** Seconds from the start of the run, warm-up included, at its end. */
  s: number;
  /** Percentiles of the results by the second in which they came; null: no results. */
  p50Us: number | null;
  p99Us: number | null;
  maxUs: number | null;
}

/** True for a 2xx answer, which has the result that was asked for. */
export const isOk = (outcome: Outcome) =>
  outcome.kind === "answer" && outcome.status >= 200 && outcome.status < 300;

/** Counts the outcomes of requests. */
export class Tally {
  readonly measured = noCounts();
  readonly warmUp = noCounts();
  readonly byKind = Object.fromEntries(KINDS.map((kind) => [kind, noCounts()])) as Record<Kind, Counts>;
  /** Latency of results from the intended time. */
  readonly response = new Latencies();
  /** Latency of results from the sending: the server's part. */
  readonly service = new Latencies();
  /** How late requests were sent although a connection was free: this tool's fault. */
  readonly lag = new Latencies();
  readonly latencyOfKind = new Map<Kind, Latencies>();
  readonly latencyOfStatus = new Map<string, Latencies>();
  readonly statuses = new Names();
  readonly codes = new Names();
  readonly failures = new Names();
  readonly verdicts = new Names();
  readonly cached = new Names();
  readonly timeline: TimelinePoint[] = [];
  readonly #current = new Latencies();
  #second: Second = { sent: 0, answered: 0, ok: 0, failed: 0 };

  #countsOf(planned: Planned): Counts[] {
    return planned.isWarmUp ? [this.warmUp] : [this.measured, this.byKind[planned.kind]];
  }

  #count(planned: Planned, what: keyof Counts): void {
    for (const counts of this.#countsOf(planned)) counts[what] += 1;
  }

  planned(request: Planned): void {
    this.#count(request, "planned");
  }

  unsent(request: Planned): void {
    this.#count(request, "unsent");
  }

  heldBack(request: Planned): void {
    this.#count(request, "heldBack");
  }

  sent(request: Sent): void {
    this.#count(request, "sent");
    this.#second.sent += 1;
  }

  cut(request: Sent): void {
    this.#count(request, "cut");
  }

  ended(request: Sent, outcome: Outcome, nowMs: number): void {
    const responseUs = (nowMs - request.intendedMs) * 1_000;
    this.#count(request, outcome.kind === "answer" ? "answered" : "failed");
    this.#second[outcome.kind === "answer" ? "answered" : "failed"] += 1;
    if (isOk(outcome)) {
      this.#second.ok += 1;
      this.#current.record(responseUs);
    }
    if (request.isWarmUp) return;
    if (outcome.kind === "failure") this.failures.add(outcome.cause satisfies FailureCause);
    else this.#answered(request, outcome, responseUs, (nowMs - request.sentMs) * 1_000);
  }

  #answered(
    { kind }: Sent,
    { status, code, verdict, cached }: Extract<Outcome, { kind: "answer" }>,
    responseUs: number,
    serviceUs: number,
  ): void {
    const name = String(status);
    this.statuses.add(name);
    if (code !== null) this.codes.add(code);
    if (verdict !== null) this.verdicts.add(verdict);
    if (cached !== null) this.cached.add(cached ? "yes" : "no");
    latenciesOf(this.latencyOfStatus, this.latencyOfStatus.size < LIMITS.names ? name : "other").record(
      responseUs,
    );
    if (status < 200 || status >= 300) return;
    this.response.record(responseUs);
    this.service.record(serviceUs);
    latenciesOf(this.latencyOfKind, kind).record(responseUs);
  }

  /** Closes a second of the timeline. @param elapsedMs since the start of the run */
  tick(elapsedMs: number): TimelinePoint {
    const point = {
      s: Math.round(elapsedMs) / 1_000,
      ...this.#second,
      p50Us: this.#current.percentile(50),
      p99Us: this.#current.percentile(99),
      maxUs: this.#current.view().maxUs,
    };
    this.timeline.push(point);
    this.#current.reset();
    this.#second = { sent: 0, answered: 0, ok: 0, failed: 0 };
    return point;
  }

  /** Inconsistencies at the end, as sentences; empty when nothing was lost. */
  faults(): string[] {
    const groups = { measured: this.measured, "warm-up": this.warmUp, ...this.byKind };
    return Object.entries(groups).flatMap(([name, counts]) => {
      const { planned, sent, answered, failed, cut, unsent, heldBack } = counts;
      const faults: string[] = [];
      if (planned !== sent + unsent + heldBack)
        faults.push(`${name}: ${planned} planned, but ${sent} sent, ${unsent} unsent, ${heldBack} held back`);
      if (sent !== answered + failed + cut)
        faults.push(`${name}: ${sent} sent, but ${answered} answered, ${failed} failed, ${cut} cut`);
      return faults;
    });
  }
}

function latenciesOf<K>(map: Map<K, Latencies>, key: K): Latencies {
  const found = map.get(key) ?? new Latencies();
  map.set(key, found);
  return found;
}

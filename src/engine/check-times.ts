import type { Clock } from "../platform/time/clock.ts";
import type { SessionTimes } from "../smtp/session/rcpt-job.ts";
import type { FailureCause, RcptOutcome, Stage } from "../smtp/wire/outcome.ts";

/** A question put to one host. Times in milliseconds from when the check began in its thread. */
export interface AttemptTimes {
  site: string;
  provider: string | null;
  host: string;
  /** Name of the egress route, "" when nothing was sent. */
  route: string;
  stage: Stage;
  /** null: a reply decided. */
  cause: FailureCause | null;
  /** Code of the reply, 0 without a reply. */
  code: number;
  tls: boolean;
  beganMs: number;
  /** Time at which a session took it from the queue; null: no session did. */
  sessionMs: number | null;
  endedMs: number;
  /** True when its session was open already, and had served other jobs or waited for some; false: it had to be opened. */
  reused: boolean;
  /** Stages reached by a session that was opened meanwhile. */
  opened: { stage: string; atMs: number }[];
}

/**
 * Times of a traced check, recorded by its thread: flat, since it crosses to the main thread. It contains neither the
 * recipient nor the server's text.
 */
export interface CheckTimes {
  slot: number;
  /** Time from the beginning to the answer. */
  totalMs: number;
  /** Time until the host to ask was known. */
  plannedMs: number;
  attempts: AttemptTimes[];
}

/** More are not kept: hosts tried times addresses of each are fewer. */
const ATTEMPTS_MAX = 16;

/** Records the times of a check, in its thread. Only traced checks have one. */
export class CheckTrace {
  readonly #beganMs: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #attempts: AttemptTimes[] = [];
  #plannedMs = 0;
  #attemptMs = 0;
  #sessionMs: number | null = null;
  #session: SessionTimes | null = null;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#beganMs = clock.monotonic();
  }

  #now(): number {
    return this.#clock.monotonic() - this.#beganMs;
  }

  /** Called when the host to ask is known; the last call counts. */
  onPlanned(): void {
    this.#plannedMs = this.#now();
    this.#attemptMs = this.#plannedMs;
  }

  /** A session has taken it, again if an earlier one turned out stale. @param now `Clock.monotonic` */
  onSession(now: number, session: SessionTimes | undefined): void {
    this.#sessionMs = now - this.#beganMs;
    this.#session = session ?? null;
  }

  onAttempt(outcome: RcptOutcome, { site, provider }: { site: string; provider: string | null }): void {
    const endedMs = this.#now();
    if (this.#attempts.length < ATTEMPTS_MAX) {
      const { host, path, stage, tls } = outcome;
      this.#attempts.push({
        ...{ site, provider, host, route: path, stage, tls },
        cause: outcome.kind === "failure" ? outcome.cause : null,
        code: outcome.kind === "reply" ? outcome.reply.code : 0,
        ...{ beganMs: this.#attemptMs, sessionMs: this.#sessionMs, endedMs },
        ...this.#opening(),
      });
    }
    this.#attemptMs = endedMs;
    this.#sessionMs = null;
    this.#session = null;
  }

  #opening(): Pick<AttemptTimes, "reused" | "opened"> {
    if (this.#session === null) return { reused: false, opened: [] };
    const { openedAt, connectedAt, greetedAt, securedAt, readyAt } = this.#session;
    if (openedAt - this.#beganMs < this.#attemptMs) return { reused: true, opened: [] };
    const marks = {
      opened: openedAt,
      connected: connectedAt,
      greeted: greetedAt,
      secured: securedAt,
      ready: readyAt,
    };
    const opened = Object.entries(marks)
      .filter(([, at]) => at > 0)
      .map(([stage, at]) => ({ stage, atMs: at - this.#beganMs }));
    return { reused: false, opened };
  }

  finish(slot: number): CheckTimes {
    const totalMs = this.#now();
    return { slot, totalMs, plannedMs: this.#plannedMs, attempts: this.#attempts };
  }
}

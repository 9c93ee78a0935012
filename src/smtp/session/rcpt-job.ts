import { LIMITS } from "../../config/limits/limits.ts";
import type { EgressRoute } from "../wire/egress-routes.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import type { Mailbox } from "../wire/mailbox.ts";
import type { Endpoint, FailureCause, RcptOutcome, Stage } from "../wire/outcome.ts";
import type { SmtpTransaction } from "./batch.ts";

export interface RcptJobOptions {
  /**
   * True when the caller no longer wants the answer. Checked before dialing, before each write and, while the job waits,
   * every `LIMITS.smtp.sweepMs`; without a deadline every `LIMITS.smtp.patientSweepMs`.
   */
  cancelled(): boolean;
  /**
   * `clock.monotonic()` at which the answer is due: then the job ends as `timeout` at its current stage. Read again each
   * time.
   */
  readonly deadlineAt: number;
  /** Has priority over all others that wait at its host. */
  readonly urgent?: boolean;
  /**
   * A request waits for the answer: where the server has too many connections, and none is from another of our threads, the
   * job fails at once.
   */
  readonly isInteractive?: boolean;
  /** Called each time a session takes the job from the queue. @param now `clock.monotonic()` @param session that session */
  onTaken?(now: number, session?: SessionTimes): void;
}

/** When a session reached each stage, by `clock.monotonic()`; 0: not yet, or never. */
export interface SessionTimes {
  readonly openedAt: number;
  readonly connectedAt: number;
  /** Time at which the server has sent its greeting, and EHLO is sent. */
  readonly greetedAt: number;
  readonly securedAt: number;
  readonly readyAt: number;
}

/** A session as its jobs see it. */
export interface ServingSession extends SessionTimes {
  readonly endpoint: Endpoint;
}

/** Asks for one recipient and gets the outcome: once, never before `SmtpPool.ask` returns. `onSettled` must not throw. */
export interface RcptCaller extends RcptJobOptions {
  onSettled(outcome: RcptOutcome): void;
}

/**
 * A caller that resolves a promise. A class, because V8 makes a literal with a getter a dictionary, slow to create and to
 * read.
 */
export class PromiseRcptCaller implements RcptCaller {
  readonly urgent: boolean;
  readonly isInteractive: boolean;
  readonly onSettled: (outcome: RcptOutcome) => void;
  readonly #options: RcptJobOptions;

  constructor(options: RcptJobOptions, settled: (outcome: RcptOutcome) => void) {
    this.#options = options;
    this.urgent = options.urgent === true;
    this.isInteractive = options.isInteractive === true;
    this.onSettled = settled;
  }

  cancelled(): boolean {
    return this.#options.cancelled();
  }

  get deadlineAt(): number {
    return this.#options.deadlineAt;
  }

  onTaken(now: number, session?: SessionTimes): void {
    this.#options.onTaken?.(now, session);
  }
}

export interface RcptJobTarget {
  host: string;
  address: string;
  path: EgressRoute;
}

/** Delivers an outcome to its caller. */
export type SettleHandler = (outcome: RcptOutcome, asker: RcptCaller) => void;

/** One recipient's job in the pool, from `rcpt` to its outcome, over as many sessions as it needs. */
export class RcptJob implements SmtpTransaction {
  readonly mailbox: Mailbox;
  readonly startedAt: number;
  isSettled = false;
  /** Ask alone, in lock step. */
  isLockStep = false;
  #retries = 0;
  #requeues = 0;
  #crowdedRetries = 0;
  /** Endpoint of the session that holds the job; null: no session does. */
  #endpoint: Endpoint | null = null;
  readonly #target: RcptJobTarget;
  readonly #caller: RcptCaller;
  readonly #onSettled: SettleHandler;

  constructor(
    mailbox: Mailbox,
    target: RcptJobTarget,
    caller: RcptCaller,
    startedAt: number,
    onSettled: SettleHandler,
  ) {
    this.mailbox = mailbox;
    this.startedAt = startedAt;
    this.#target = target;
    this.#caller = caller;
    this.#onSettled = onSettled;
  }

  get deadlineAt(): number {
    return this.#caller.deadlineAt;
  }

  get urgent(): boolean {
    return this.#caller.urgent === true;
  }

  get isInteractive(): boolean {
    return this.#caller.isInteractive === true;
  }

  /** A session takes the job. */
  onTaken(now: number, session: ServingSession): void {
    this.#endpoint = session.endpoint;
    this.#caller.onTaken?.(now, session);
  }

  /** @param domain "": any */
  matches(path: string, domain: string): boolean {
    return this.#target.path.name === path && (domain === "" || this.mailbox.address.endsWith(`@${domain}`));
  }

  cancelled(): boolean {
    return this.isSettled || this.#caller.cancelled();
  }

  /** Allows another session, once, when the current one was stale. */
  mayRetry(): boolean {
    return this.#leaveSessionIf(!this.isSettled && this.#retries++ < LIMITS.smtp.sessionRetries);
  }

  /** Allows another session when the current one was a connection too many. */
  mayRetryAfterCrowding(): boolean {
    return this.#leaveSessionIf(!this.isSettled && this.#crowdedRetries++ < LIMITS.learned.crowdedTries);
  }

  /** Allows one retry, alone and in lock step, when a write of several commands left the result open. */
  mayRetryInLockStep(): boolean {
    if (this.isSettled || this.isLockStep) return false;
    this.isLockStep = true;
    return this.#leaveSessionIf(true);
  }

  /** Allows a return to the queue when a session broke before it reached this job. */
  mayRequeue(): boolean {
    return this.#leaveSessionIf(!this.isSettled && this.#requeues++ < LIMITS.smtp.requeues);
  }

  /** Leaves the session. */
  #leaveSessionIf(isAllowed: boolean): boolean {
    if (isAllowed) this.#endpoint = null;
    return isAllowed;
  }

  /** The first end counts; later ones are ignored. */
  settle(end: SessionEnd, tls: boolean, now: number): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const { host } = this.#target;
    const endpoint = end.at ?? this.#endpoint;
    const address = endpoint?.address ?? this.#target.address;
    const path = endpoint?.path ?? this.#target.path.name;
    const latencyMs = Math.max(0, Math.round(now - this.startedAt));
    if (end.kind === "reply") {
      const { stage, reply } = end;
      this.#onSettled({ kind: "reply", stage, reply, host, address, path, tls, latencyMs }, this.#caller);
    } else {
      const { stage, cause, detail, tried } = end;
      const failure = { stage, cause, detail, host, address, path, tls, latencyMs };
      this.#onSettled({ kind: "failure", ...failure, ...(tried && { tried }) }, this.#caller);
    }
  }
}

export function sessionFailure(stage: Stage, cause: FailureCause, detail: string): SessionEnd {
  return { kind: "failure", stage, cause, detail };
}

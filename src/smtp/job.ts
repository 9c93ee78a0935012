import { LIMITS } from "../core/limits.ts";
import type { Transaction } from "./batch.ts";
import type { SessionEnd } from "./handshake.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Endpoint, FailureCause, RcptOutcome, Stage } from "./outcome.ts";
import type { Path } from "./path.ts";

export interface JobOptions {
  /**
   * True when nobody waits any more; asked before dialing, before each write and, while it waits, every `LIMITS.smtp.sweepMs`;
   * without a deadline every `LIMITS.smtp.patientLookMs`.
   */
  cancelled(): boolean;
  /** `clock.monotonic()` at which the answer is due: then it is a `timeout` where it stands. Read anew each time. */
  readonly deadlineAt: number;
  /** Goes before all that wait at its host. */
  readonly urgent?: boolean;
  /** A request waits for the answer: where the server has too many connections, that is the answer, at once. */
  readonly hurried?: boolean;
  /** Told each time that a session takes the job out of the line. @param now `clock.monotonic()` @param session which */
  onTurn?(now: number, session?: SessionTimes): void;
}

/** When a session got how far, by `clock.monotonic()`; 0: not yet, or never. */
export interface SessionTimes {
  readonly openedAt: number;
  readonly connectedAt: number;
  /** The server has greeted us, and is told EHLO. */
  readonly greetedAt: number;
  readonly securedAt: number;
  readonly readyAt: number;
}

/** A session as the jobs that it takes see it. */
export interface ServingSession extends SessionTimes {
  readonly endpoint: Endpoint;
}

/** Who asks, and hears the outcome: once, never before `SmtpPool.ask` returns. Must not throw. */
export interface Asker extends JobOptions {
  settled(outcome: RcptOutcome): void;
}

/** Who asks for one recipient and is told by a promise. A class: a literal with a getter is a dictionary in V8, slow to make and to ask. */
export class LoneAsker implements Asker {
  readonly urgent: boolean;
  readonly hurried: boolean;
  readonly settled: (outcome: RcptOutcome) => void;
  readonly #options: JobOptions;

  constructor(options: JobOptions, settled: (outcome: RcptOutcome) => void) {
    this.#options = options;
    this.urgent = options.urgent === true;
    this.hurried = options.hurried === true;
    this.settled = settled;
  }

  cancelled(): boolean {
    return this.#options.cancelled();
  }

  get deadlineAt(): number {
    return this.#options.deadlineAt;
  }

  onTurn(now: number, session?: SessionTimes): void {
    this.#options.onTurn?.(now, session);
  }
}

export interface JobPlace {
  host: string;
  address: string;
  path: Path;
}

/** How an outcome is brought to whom it was asked for. */
export type Settle = (outcome: RcptOutcome, asker: Asker) => void;

/** One recipient's way through the pool: from `rcpt` to its outcome, whatever sessions it needs. */
export class Job implements Transaction {
  readonly mailbox: Mailbox;
  readonly startedAt: number;
  settled = false;
  /** To be asked by itself, in lock step. */
  careful = false;
  #retries = 0;
  #requeues = 0;
  #stepsAside = 0;
  /** Of the session that has it; null: none has. */
  #endpoint: Endpoint | null = null;
  readonly #place: JobPlace;
  readonly #asker: Asker;
  readonly #resolve: Settle;

  constructor(mailbox: Mailbox, place: JobPlace, asker: Asker, startedAt: number, resolve: Settle) {
    this.mailbox = mailbox;
    this.startedAt = startedAt;
    this.#place = place;
    this.#asker = asker;
    this.#resolve = resolve;
  }

  get deadlineAt(): number {
    return this.#asker.deadlineAt;
  }

  get urgent(): boolean {
    return this.#asker.urgent === true;
  }

  get hurried(): boolean {
    return this.#asker.hurried === true;
  }

  /** A session takes it. */
  begin(now: number, session: ServingSession): void {
    this.#endpoint = session.endpoint;
    this.#asker.onTurn?.(now, session);
  }

  /** @param domain "": any */
  isFor(path: string, domain: string): boolean {
    return this.#place.path.name === path && (domain === "" || this.mailbox.address.endsWith(`@${domain}`));
  }

  cancelled(): boolean {
    return this.settled || this.#asker.cancelled();
  }

  /** Another session, once, when the one in use turned out stale. */
  mayRetry(): boolean {
    return this.#backIf(!this.settled && this.#retries++ < LIMITS.smtp.sessionRetries);
  }

  /** Another session, when the one in use turned out one too many. */
  mayStepAside(): boolean {
    return this.#backIf(!this.settled && this.#stepsAside++ < LIMITS.learnt.crowdedTries);
  }

  /** By itself and in lock step, once, when a write of several commands left open what is true of it. */
  mayAskCarefully(): boolean {
    if (this.settled || this.careful) return false;
    this.careful = true;
    return this.#backIf(true);
  }

  /** Back into the queue, when a session broke before this job's turn. */
  mayRequeue(): boolean {
    return this.#backIf(!this.settled && this.#requeues++ < LIMITS.smtp.requeues);
  }

  /** It leaves its session. */
  #backIf(may: boolean): boolean {
    if (may) this.#endpoint = null;
    return may;
  }

  /** The first end counts, later ones are ignored. */
  settle(end: SessionEnd, tls: boolean, now: number): void {
    if (this.settled) return;
    this.settled = true;
    const { host } = this.#place;
    const endpoint = end.at ?? this.#endpoint;
    const address = endpoint?.address ?? this.#place.address;
    const path = endpoint?.path ?? this.#place.path.name;
    const latencyMs = Math.max(0, Math.round(now - this.startedAt));
    if (end.kind === "reply") {
      const { stage, reply } = end;
      this.#resolve({ kind: "reply", stage, reply, host, address, path, tls, latencyMs }, this.#asker);
    } else {
      const { stage, cause, detail, tried } = end;
      const failure = { stage, cause, detail, host, address, path, tls, latencyMs };
      this.#resolve({ kind: "failure", ...failure, ...(tried && { tried }) }, this.#asker);
    }
  }
}

export function failed(stage: Stage, cause: FailureCause, detail: string): SessionEnd {
  return { kind: "failure", stage, cause, detail };
}

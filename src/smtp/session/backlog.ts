import { LIMITS } from "../../config/limits/limits.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import type { FailureCause, Stage } from "../wire/outcome.ts";
import { type RcptJob, sessionFailure } from "./rcpt-job.ts";

/** Jobs in order of arrival. Taking from the front is cheap in a long queue too. */
class RcptJobQueue {
  /**
   * Jobs from `#head` on. Slots before it are cleared: a taken job would otherwise stay in memory until a thousand more are
   * taken.
   */
  #jobs: (RcptJob | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#jobs.length - this.#head;
  }

  push(job: RcptJob): void {
    this.#jobs.push(job);
  }

  /** Puts `jobs` before all others and keeps their order. */
  putBack(jobs: readonly RcptJob[]): void {
    this.#jobs = [...jobs, ...this.#jobs.slice(this.#head)];
    this.#head = 0;
  }

  shift(): RcptJob | undefined {
    const job = this.#jobs[this.#head];
    if (job === undefined) return undefined;
    this.#jobs[this.#head] = undefined;
    this.#head++;
    if (this.#head === this.#jobs.length) {
      this.#jobs = [];
      this.#head = 0;
    } else if (this.#head >= 1_024) {
      this.#jobs = this.#jobs.slice(this.#head);
      this.#head = 0;
    }
    return job;
  }

  some(matches: (job: RcptJob) => boolean): boolean {
    return this.#jobs.some((job) => job !== undefined && matches(job));
  }

  /** Removes all jobs for which `isOver` is true. Copies nothing when there are none: it runs many times a second. */
  prune(isOver: (job: RcptJob) => boolean): void {
    const jobs = this.#jobs;
    let kept = this.#head;
    for (let i = this.#head; i < jobs.length; i++) {
      const job = jobs[i] as RcptJob;
      if (isOver(job)) continue;
      if (kept !== i) jobs[kept] = job;
      kept++;
    }
    jobs.length = kept;
  }
}

/** The jobs of one MX host that wait for a session. */
export class Backlog {
  readonly #queue = new RcptJobQueue();
  /** Jobs whose session was stale. Only a new session may take them, as its first transaction. */
  readonly #forNewSession = new RcptJobQueue();

  /** Jobs to ask alone, in lock step; some of them need a new session. */
  readonly #lockStep = new RcptJobQueue();
  readonly #lockStepForNewSession = new RcptJobQueue();
  /** Some job may have a deadline. */
  #hasDeadlines = false;
  #expiredAt = Number.NEGATIVE_INFINITY;

  get length(): number {
    return this.readyForAnySession + this.waitingForNewSession;
  }

  /** A request waits for one of the jobs. */
  get hasInteractive(): boolean {
    return [this.#forNewSession, this.#lockStep, this.#lockStepForNewSession, this.#queue].some((jobs) =>
      jobs.some(({ isInteractive }) => isInteractive),
    );
  }

  /** Some jobs must be asked alone, or first on a new session. */
  get hasSpecial(): boolean {
    return this.#lockStep.length > 0 || this.waitingForNewSession > 0;
  }

  /** Jobs that a used session may take. */
  get readyForAnySession(): number {
    return this.#queue.length + this.#lockStep.length;
  }

  get waitingForNewSession(): number {
    return this.#forNewSession.length + this.#lockStepForNewSession.length;
  }

  add(job: RcptJob): void {
    this.#noteDeadline(job);
    this.#queue.push(job);
  }

  addForNewSession(job: RcptJob): void {
    this.#noteDeadline(job);
    (job.isLockStep ? this.#lockStepForNewSession : this.#forNewSession).push(job);
  }

  addForLockStep(job: RcptJob): void {
    this.#noteDeadline(job);
    this.#lockStep.push(job);
  }

  /** Queues the job again, for any session. */
  retry(job: RcptJob): void {
    this.#noteDeadline(job);
    if (job.isLockStep) this.#lockStep.push(job);
    else this.#queue.putBack([job]);
  }

  /** A job to ask alone, in lock step. */
  takeForLockStep(onNewSession: boolean): RcptJob | undefined {
    return (onNewSession ? this.#lockStepForNewSession.shift() : undefined) ?? this.#lockStep.shift();
  }

  /** A job whose session was stale. It goes first on the new session, because there its end is conclusive. */
  takeForNewSession(): RcptJob | undefined {
    return this.#forNewSession.shift();
  }

  /** Puts back jobs that their broken session had not reached, before all others. */
  putBack(jobs: readonly RcptJob[]): void {
    for (const job of jobs) this.#noteDeadline(job);
    if (jobs.length > 0) this.#queue.putBack(jobs);
  }

  take(): RcptJob | undefined {
    return this.#queue.shift();
  }

  /**
   * Ends jobs past their deadline, for `cause`, and cancelled jobs. Where no job has a deadline (bulk rows), it runs once
   * in `LIMITS.smtp.patientSweepMs`: sweeping a thousand bulk rows ten times a second took a tenth of the thread's time.
   * @param includePatient sweep now even when no job has a deadline
   */
  expire(now: number, stage: Stage, cause: FailureCause, includePatient: boolean): void {
    if (!includePatient && !this.#hasDeadlines && now - this.#expiredAt < LIMITS.smtp.patientSweepMs) return;
    this.#expiredAt = now;
    this.#hasDeadlines = false;
    this.#prune((job) => {
      if (job.cancelled())
        job.settle(sessionFailure(stage, "cancelled", "cancelled while waiting"), false, now);
      else if (job.deadlineAt <= now)
        job.settle(sessionFailure(stage, cause, "deadline while waiting"), false, now);
      else this.#noteDeadline(job);
      return job.isSettled;
    });
  }

  /** Ends the jobs of requests with `end`: see `RcptJobOptions.isInteractive`. */
  failInteractive(end: SessionEnd, tls: boolean, now: number): void {
    this.#prune((job) => {
      if (job.isInteractive) job.settle(end, tls, now);
      return job.isSettled;
    });
  }

  /** Ends all jobs with `end`, or those that arrived no later than `since`. */
  fail(end: SessionEnd, tls: boolean, now: number, since = Number.POSITIVE_INFINITY): void {
    this.#prune((job) => {
      if (job.startedAt <= since) job.settle(end, tls, now);
      return job.isSettled;
    });
  }

  /** Ends the jobs of one egress route, and of `domain` unless it is "": that route is closed to the site now. */
  holdBack(path: string, domain: string, now: number): void {
    const end = sessionFailure("connect", "held_back", "this site blocks us");
    this.#prune((job) => {
      if (job.matches(path, domain)) job.settle(end, false, now);
      return job.isSettled;
    });
  }

  #noteDeadline(job: RcptJob): void {
    if (job.deadlineAt !== Number.POSITIVE_INFINITY) this.#hasDeadlines = true;
  }

  #prune(isOver: (job: RcptJob) => boolean): void {
    this.#forNewSession.prune(isOver);
    this.#lockStep.prune(isOver);
    this.#lockStepForNewSession.prune(isOver);
    this.#queue.prune(isOver);
  }
}

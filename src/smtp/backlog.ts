import { LIMITS } from "../core/limits.ts";
import type { SessionEnd } from "./handshake.ts";
import { failed, type Job } from "./job.ts";
import type { FailureCause, Stage } from "./outcome.ts";

/** Jobs in order of arrival; taking from the front is cheap also in a long queue. */
class JobQueue {
  /** From `#head` on; before it nothing: who was taken out would be kept here, row and all, until a thousand more were. */
  #jobs: (Job | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#jobs.length - this.#head;
  }

  push(job: Job): void {
    this.#jobs.push(job);
  }

  /** Puts `jobs` before all others, keeping their order. */
  putBack(jobs: readonly Job[]): void {
    this.#jobs = [...jobs, ...this.#jobs.slice(this.#head)];
    this.#head = 0;
  }

  shift(): Job | undefined {
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

  /** Takes out all for which `isOver` is true. Copies nothing where it is so of none: it is asked many times a second. */
  prune(isOver: (job: Job) => boolean): void {
    const jobs = this.#jobs;
    let kept = this.#head;
    for (let i = this.#head; i < jobs.length; i++) {
      const job = jobs[i] as Job;
      if (isOver(job)) continue;
      if (kept !== i) jobs[kept] = job;
      kept++;
    }
    jobs.length = kept;
  }
}

/** The jobs of one MX host that wait for a session. */
export class Backlog {
  readonly #queue = new JobQueue();
  /** Jobs whose session turned out stale: only a new session may take them, one before all others. */
  readonly #fresh = new JobQueue();

  /** Jobs to be asked by themselves, in lock step; some of them by a new session. */
  readonly #careful = new JobQueue();
  readonly #carefulFresh = new JobQueue();
  /** Somebody may be among them who has a deadline. */
  #hurried = false;
  #lookedAt = Number.NEGATIVE_INFINITY;

  get length(): number {
    return this.forAny + this.forFresh;
  }

  /** Some are to be asked by themselves, or first on a new session. */
  get hasSpecial(): boolean {
    return this.#careful.length > 0 || this.forFresh > 0;
  }

  /** Jobs that a session which has served before may take. */
  get forAny(): number {
    return this.#queue.length + this.#careful.length;
  }

  get forFresh(): number {
    return this.#fresh.length + this.#carefulFresh.length;
  }

  add(job: Job): void {
    this.#note(job);
    this.#queue.push(job);
  }

  addFresh(job: Job): void {
    this.#note(job);
    (job.careful ? this.#carefulFresh : this.#fresh).push(job);
  }

  addCareful(job: Job): void {
    this.#note(job);
    this.#careful.push(job);
  }

  /** Once more, by any session. */
  retry(job: Job): void {
    this.#note(job);
    if (job.careful) this.#careful.push(job);
    else this.#queue.putBack([job]);
  }

  /** One that is to be asked by itself, in lock step. */
  takeCareful(freshToo: boolean): Job | undefined {
    return (freshToo ? this.#carefulFresh.shift() : undefined) ?? this.#careful.shift();
  }

  /** One whose session turned out stale: it comes first on its new one, since there its end is the true one. */
  takeFresh(): Job | undefined {
    return this.#fresh.shift();
  }

  /** Jobs whose turn had not come when their session broke: before all others. */
  putBack(jobs: readonly Job[]): void {
    for (const job of jobs) this.#note(job);
    if (jobs.length > 0) this.#queue.putBack(jobs);
  }

  take(): Job | undefined {
    return this.#queue.shift();
  }

  /**
   * Ends those whose time is up, for `cause`, and those nobody waits for. Where none has a deadline, hence nobody waits as for a
   * request, only once in LIMITS.smtp.patientLookMs: to look at a thousand rows of jobs ten times a second was a tenth of what a
   * thread did for rows that wait for slow servers.
   * @param everybody also where none has a deadline
   */
  expire(now: number, stage: Stage, cause: FailureCause, everybody: boolean): void {
    if (!everybody && !this.#hurried && now - this.#lookedAt < LIMITS.smtp.patientLookMs) return;
    this.#lookedAt = now;
    this.#hurried = false;
    this.#prune((job) => {
      if (job.cancelled()) job.settle(failed(stage, "cancelled", "cancelled while waiting"), false, now);
      else if (job.deadlineAt <= now) job.settle(failed(stage, cause, "deadline while waiting"), false, now);
      else this.#note(job);
      return job.settled;
    });
  }

  /** Ends the jobs of requests with `end`: see `JobOptions.hurried`. */
  failHurried(end: SessionEnd, tls: boolean, now: number): void {
    this.#prune((job) => {
      if (job.hurried) job.settle(end, tls, now);
      return job.settled;
    });
  }

  /** Ends all with `end`, or those that came no later than `since`. */
  fail(end: SessionEnd, tls: boolean, now: number, since = Number.POSITIVE_INFINITY): void {
    this.#prune((job) => {
      if (job.startedAt <= since) job.settle(end, tls, now);
      return job.settled;
    });
  }

  /** Ends those of one way, and of `domain` if it is not "": nobody goes out there now. */
  holdBack(path: string, domain: string, now: number): void {
    const end = failed("connect", "held_back", "this site blocks us");
    this.#prune((job) => {
      if (job.isFor(path, domain)) job.settle(end, false, now);
      return job.settled;
    });
  }

  #note(job: Job): void {
    if (job.deadlineAt !== Number.POSITIVE_INFINITY) this.#hurried = true;
  }

  #prune(isOver: (job: Job) => boolean): void {
    this.#fresh.prune(isOver);
    this.#careful.prune(isOver);
    this.#carefulFresh.prune(isOver);
    this.#queue.prune(isOver);
  }
}

import type { Clock } from "../core/clock.ts";
import type { Backlog } from "./backlog.ts";
import type { TransactionEnd } from "./batch.ts";
import type { SessionEnd } from "./handshake.ts";
import { failed, type Job } from "./job.ts";
import type { SitePolicy } from "./policy.ts";
import type { Session, SessionHandler } from "./session.ts";

/** The host of a session, as its sessions see it. */
export interface SessionOwner {
  readonly policy: SitePolicy;
  readonly backlog: Backlog;
  readonly clock: Clock;
  /** Transactions in one write at present. */
  readonly depth: number;
  onReady(session: PooledSession): void;
  /** A batch is through; `trouble` when the server wants less at once. */
  onFree(session: PooledSession, trouble: boolean): void;
  /** The connection is gone; `trouble` when a batch was under way. */
  onGone(session: PooledSession, end: SessionEnd, trouble: boolean): void;
}

const isRejection = (end: TransactionEnd) => end.kind === "reply" && end.reply.code >= 400;

/** `452 4.5.3 Too many recipients`: a limit of the session, no answer about the mailbox. */
const isRecipientLimit = (end: TransactionEnd) =>
  end.kind === "reply" && (end.reply.enhanced === "4.5.3" || end.reply.enhanced === "5.5.3");

/** A session that answers fewer than it was given is a bug of ours; its jobs end all the same. */
const LOST: TransactionEnd = {
  kind: "failure",
  stage: "rcpt",
  cause: "protocol",
  detail: "no end",
  blame: "own",
};

/** A session with what the pool counts of it: it takes jobs from the host's backlog and brings them to their ends. */
export class PooledSession implements SessionHandler {
  readonly openedAt: number;
  idleSince: number;
  ready = false;
  /** To be closed after the batch under way. */
  spent = false;
  readonly #owner: SessionOwner;
  readonly #session: Session;
  #served = 0;
  #rejections = 0;
  #jobs: readonly Job[] = [];

  constructor(owner: SessionOwner, dial: (handler: SessionHandler) => Session) {
    this.#owner = owner;
    this.openedAt = owner.clock.monotonic();
    this.idleSince = this.openedAt;
    this.#session = dial(this);
  }

  get inFlight(): number {
    return this.#jobs.length;
  }

  get stage() {
    return this.#session.stage;
  }

  get secure(): boolean {
    return this.#session.secure;
  }

  get pipelining(): boolean {
    return this.#session.capabilities.pipelining;
  }

  /** Takes a batch and writes it. @returns false when there was nothing to take. */
  dispatch(): boolean {
    const careful = this.#takeOne((backlog) => backlog.takeCareful(this.#served === 0));
    const alone =
      careful ?? (this.#served === 0 ? this.#takeOne((backlog) => backlog.takeFresh()) : undefined);
    const jobs = alone === undefined ? this.#takeTogether() : [alone];
    for (const job of jobs) job.begin();
    if (jobs.length === 0) {
      this.idleSince = this.#owner.clock.monotonic();
      return false;
    }
    this.#jobs = jobs;
    this.#session.run(jobs, careful !== undefined);
    return true;
  }

  #takeOne(take: (backlog: Backlog) => Job | undefined): Job | undefined {
    for (;;) {
      const job = take(this.#owner.backlog);
      if (job === undefined || this.#maySend(job)) return job;
    }
  }

  #takeTogether(): Job[] {
    const jobs: Job[] = [];
    const room = this.#room();
    while (jobs.length < room) {
      const job = this.#owner.backlog.take();
      if (job === undefined) break;
      if (this.#maySend(job)) jobs.push(job);
    }
    return jobs;
  }

  /** Ends those whose time is up or for whom nobody waits; what the server says of them later is not waited for. */
  expire(now: number): void {
    for (const job of this.#jobs) {
      if (job.cancelled()) job.settle(failed(this.stage, "cancelled", "cancelled"), this.secure, now);
      else if (job.deadlineAt <= now) job.settle(failed(this.stage, "timeout", "deadline"), this.secure, now);
    }
  }

  quit(): void {
    this.#session.quit();
  }

  destroy(end: SessionEnd): void {
    this.#session.destroy();
    const now = this.#owner.clock.monotonic();
    for (const job of this.#jobs) job.settle(end, this.secure, now);
    this.#jobs = [];
  }

  onReady(): void {
    this.ready = true;
    this.#owner.onReady(this);
  }

  onBatch(ends: readonly TransactionEnd[]): void {
    const trouble = this.#conclude(ends);
    const { transactionsPerSession, rejectionsPerSession } = this.#owner.policy;
    if (this.#served >= transactionsPerSession || this.#rejections >= rejectionsPerSession) this.spent = true;
    this.#owner.onFree(this, trouble);
  }

  onClosed(end: SessionEnd, unfinished: readonly TransactionEnd[]): void {
    const trouble = unfinished.length > 0;
    if (trouble) this.#conclude(unfinished);
    this.#owner.onGone(this, end, trouble);
  }

  /** How many transactions may go out now: never so many that a limit of the site could be overrun. */
  #room(): number {
    const { transactionsPerSession, rejectionsPerSession } = this.#owner.policy;
    const left = Math.min(transactionsPerSession - this.#served, rejectionsPerSession - this.#rejections);
    const depth = this.#session.capabilities.pipelining ? this.#owner.depth : 1;
    return Math.max(1, Math.min(depth, left));
  }

  #maySend(job: Job): boolean {
    const now = this.#owner.clock.monotonic();
    if (job.cancelled()) job.settle(failed("mail", "cancelled", "cancelled before MAIL"), this.secure, now);
    else if (job.deadlineAt <= now) job.settle(failed("mail", "timeout", "deadline"), this.secure, now);
    else if (job.mailbox.utf8 && !this.#session.capabilities.smtputf8)
      job.settle(failed("mail", "smtputf8_missing", "SMTPUTF8 is not offered"), this.secure, now);
    return !job.settled;
  }

  /** @returns whether the server showed that it wants less at once. */
  #conclude(ends: readonly TransactionEnd[]): boolean {
    const jobs = this.#jobs;
    const back: Job[] = [];
    let trouble = false;
    this.#jobs = [];
    jobs.forEach((job, index) => {
      const end = ends[index] ?? LOST;
      if (isRejection(end)) this.#rejections++;
      if (isRecipientLimit(end)) {
        trouble = true;
        this.spent = true;
      }
      const blame = end.kind === "failure" ? end.blame : "own";
      if (blame === "not_reached" && job.mayRequeue()) back.push(job);
      else if (blame !== "own" && job.mayAskCarefully()) this.#owner.backlog.addCareful(job);
      else if (this.#isStale(end, index) && job.mayRetry()) this.#owner.backlog.addFresh(job);
      else job.settle(end, this.secure, this.#owner.clock.monotonic());
    });
    this.#served += jobs.length;
    this.#owner.backlog.putBack(back);
    return trouble;
  }

  /**
   * The end is the session's, which had served others before, and not the recipient's: hung up on, told to leave, left
   * in silence, or over its recipients. On a session's first transaction it is the true end.
   */
  #isStale(end: TransactionEnd, index: number): boolean {
    if (this.#served + index === 0) return false;
    if (end.kind === "reply") return isRecipientLimit(end) || end.reply.code === 421;
    return end.blame !== "not_reached" && (end.cause === "closed" || end.cause === "timeout");
  }
}

import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Passing } from "../core/passing-set.ts";
import type { Backlog } from "./backlog.ts";
import type { Through, TransactionEnd } from "./batch.ts";
import { saysCrowded } from "./crowding.ts";
import type { Depth } from "./depth.ts";
import type { SessionEnd } from "./handshake.ts";
import { failed, type Job, type ServingSession } from "./job.ts";
import type { SiteLessons } from "./lessons.ts";
import { stockOf } from "./mta.ts";
import type { SitePolicy } from "./policy.ts";
import type { Session, SessionHandler } from "./session.ts";
import {
  type Allowance,
  isDear,
  isRecipientLimit,
  isWorn,
  limitNamed,
  rejectionsOf,
  transactionsOf,
} from "./session-limits.ts";
import type { Traffic } from "./traffic.ts";

/** The host of a session, as its sessions see it. */
export interface SessionOwner {
  readonly policy: SitePolicy;
  readonly backlog: Backlog;
  readonly clock: Clock;
  readonly depth: Depth;
  /** Most transactions in one write, at best. */
  readonly depthMax: number;
  readonly lessons: SiteLessons;
  readonly traffic: Traffic;
  /** An opening was refused not long ago. */
  isWary(now: number): boolean;
  /** @param now as of `SessionHandler.onBatch` */
  onReady(session: PooledSession, now: number): void;
  /** A batch is through. */
  onFree(session: PooledSession, now: number): void;
  /** The connection is gone. */
  onGone(session: PooledSession, end: SessionEnd): void;
  /** The server says that too many connections are open. */
  onCrowded(): void;
}

const isRejection = (end: TransactionEnd) => end.kind === "reply" && end.reply.code >= 400;

/** Its local part may hold sentences, which servers repeat without the quotes. */
const isQuoted = ({ mailbox }: Job) => mailbox.address.startsWith('"');

/** An array that is added to has room for sixteen more at once, which at one address a write is most of what a write leaves behind. */
const NO_JOBS: readonly Job[] = [];

const takeAny = (backlog: Backlog) => backlog.take();

const isOverRecipients = (end: TransactionEnd) => end.kind === "reply" && isRecipientLimit(end.reply);

/** A session that answers fewer than it was given is a bug of ours; its jobs end all the same. */
const LOST: TransactionEnd = {
  kind: "failure",
  stage: "rcpt",
  cause: "protocol",
  detail: "no end",
  blame: "own",
};

/** A session with what the pool counts of it: it takes jobs from the host's backlog and brings them to their ends. */
export class PooledSession implements SessionHandler, ServingSession, Passing {
  seat = 0;
  readonly openedAt: number;
  readyAt = 0;
  idleSince: number;
  ready = false;
  /** To be closed after the batch under way. */
  spent = false;
  readonly #owner: SessionOwner;
  readonly #session: Session;
  #served = 0;
  #rejections = 0;
  /** It answers late. */
  #slow = false;
  /** When it is its turn to try more than is known to go well. */
  #tries: Allowance = { transactions: 0, rejections: 0 };
  #jobs = NO_JOBS;
  /** Of the batch under way. */
  #hurried = false;
  #lookedAt = 0;
  #writtenAt = 0;
  #pipelined = false;

  constructor(owner: SessionOwner, dial: (handler: SessionHandler) => Session) {
    this.#owner = owner;
    this.openedAt = owner.clock.monotonic();
    this.idleSince = this.openedAt;
    this.#session = dial(this);
  }

  get stage() {
    return this.#session.stage;
  }

  get endpoint() {
    return this.#session.endpoint;
  }

  get connectedAt(): number {
    return this.#session.connectedAt;
  }

  get greetedAt(): number {
    return this.#session.greetedAt;
  }

  get securedAt(): number {
    return this.#session.securedAt;
  }

  get secure(): boolean {
    return this.#session.secure;
  }

  get pipelining(): boolean {
    return this.#session.capabilities.pipelining;
  }

  /** It would meet a limit of its server with the next transaction, or is to be closed. */
  get isExhausted(): boolean {
    return this.spent || (this.#served > 0 && this.#left() <= 0);
  }

  /** Takes a batch and writes it. @param now `clock.monotonic()` @returns false when there was nothing to take. */
  dispatch(now: number): boolean {
    const special = this.#owner.backlog.hasSpecial ? this.#takeSpecial(now) : undefined;
    const jobs = special === undefined ? this.#takeTogether(now) : [special];
    if (jobs.length === 0) {
      this.idleSince = now;
      return false;
    }
    this.#hurried = false;
    for (const job of jobs) {
      if (job.deadlineAt !== Number.POSITIVE_INFINITY) this.#hurried = true;
      job.begin(now, this);
    }
    this.#lookedAt = now;
    const careful = special?.careful === true;
    this.#jobs = jobs;
    this.#writtenAt = now;
    this.#pipelined = !careful && this.pipelining;
    this.#session.run(jobs, careful, now);
    return true;
  }

  /** One that goes by itself: in lock step, or first on a new session. */
  #takeSpecial(now: number): Job | undefined {
    const isNew = this.#served === 0;
    const careful = this.#takeOne(now, (backlog) => backlog.takeCareful(isNew));
    return careful ?? (isNew ? this.#takeOne(now, (backlog) => backlog.takeFresh()) : undefined);
  }

  #takeOne(now: number, take: (backlog: Backlog) => Job | undefined): Job | undefined {
    for (;;) {
      const job = take(this.#owner.backlog);
      if (job === undefined || this.#maySend(job, now)) return job;
    }
  }

  #takeTogether(now: number): readonly Job[] {
    const room = this.#room(now);
    if (room === 1) {
      const job = this.#takeOne(now, takeAny);
      return job === undefined ? NO_JOBS : [job];
    }
    const jobs: Job[] = [];
    while (jobs.length < room) {
      const job = this.#owner.backlog.take();
      if (job === undefined) break;
      if (this.#maySend(job, now)) jobs.push(job);
    }
    return jobs;
  }

  /**
   * Ends those whose time is up or for whom nobody waits; what the server says of them later is not waited for. Where none had a deadline
   * before his turn, as rows of jobs, only once in LIMITS.smtp.patientLookMs.
   * @param everybody also then
   */
  expire(now: number, everybody: boolean): void {
    if (!everybody && !this.#hurried && now - this.#lookedAt < LIMITS.smtp.patientLookMs) return;
    this.#lookedAt = now;
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
    this.#jobs = NO_JOBS;
  }

  onReady(): void {
    this.ready = true;
    this.readyAt = this.#owner.clock.monotonic();
    const { limits } = this.#owner.lessons;
    limits.greeted(stockOf(this.#session.mta), this.#owner.policy, this.readyAt);
    this.#tries = limits.takeTries(this.readyAt);
    this.#owner.onReady(this, this.readyAt);
  }

  onBatch(ends: readonly TransactionEnd[], late: Through | null, now: number): void {
    const over = ends.findIndex(isOverRecipients);
    this.#learn(ends, over, late, now);
    this.#conclude(ends, now);
    this.#extend(now);
    if (over >= 0 || this.#left() <= 0 || this.#shouldRetire(now)) this.spent = true;
    this.#owner.onFree(this, now);
  }

  /** It goes further than any has gone, and answers become late: left at once, since each reply of the write may be as late. */
  onLate(through: Through): boolean {
    const { rejections } = this.#owner.lessons.limits;
    const isBeyond =
      this.#tries.rejections > rejections && this.#rejections + through.rejections >= rejections;
    return isBeyond && !this.#slow;
  }

  onClosed(end: SessionEnd, unfinished: readonly TransactionEnd[], through: Through): void {
    if (unfinished.length > 0) {
      const now = this.#owner.clock.monotonic();
      this.#learnEnd(end, through, now);
      this.#conclude(unfinished, now);
    }
    this.#owner.onGone(this, end);
  }

  /** Transactions that may follow before a limit of the site, or of its servers, is met. */
  #left(): number {
    const { lessons, policy } = this.#owner;
    const known = Math.max(lessons.limits.transactions, this.#tries.transactions);
    const transactions = Math.min(transactionsOf(policy), known) - this.#served;
    return Math.min(transactions, this.#rejectionsMost() - this.#rejections);
  }

  /** Rejections that it may come to. */
  #rejectionsMost(): number {
    const { lessons, policy } = this.#owner;
    return Math.min(rejectionsOf(policy), Math.max(lessons.limits.rejections, this.#tries.rejections));
  }

  /** Before its writes become small: it may be its turn to go on beyond what has gone well so far. */
  #extend(now: number): void {
    const { depth, lessons } = this.#owner;
    if (this.#slow || this.#left() >= depth.now) return;
    const more = lessons.limits.extend(this.#served, this.#rejections, depth.now, now);
    this.#tries = {
      transactions: Math.max(this.#tries.transactions, more.transactions),
      rejections: Math.max(this.#tries.rejections, more.rejections),
    };
  }

  /**
   * Another one would carry more, and there is enough for it. Not where the site's servers have taught us a limit, of which
   * sessions try now and then whether it still holds; nor where one is long in coming, or may be refused.
   */
  #shouldRetire(now: number): boolean {
    const { backlog, depth, lessons } = this.#owner;
    if (!isWorn(this.#rejections, this.#rejectionsMost(), depth.now)) return false;
    if (!this.pipelining || lessons.limits.isTaught || backlog.length < depth.now) return false;
    const [setUpMs, roundTripMs] = [this.readyAt - this.openedAt, now - this.#writtenAt];
    return !isDear(setUpMs, roundTripMs, this.#served, this.#rejections) && !this.#owner.isWary(now);
  }

  /** How many transactions may go out now: never so many that a limit could be overrun. */
  #room(now: number): number {
    if (!this.#session.capabilities.pipelining) return 1;
    const { depth, depthMax } = this.#owner;
    const left = Math.min(this.#left(), depthMax);
    if (left <= depth.now) return Math.max(1, left);
    return Math.min(left, depth.take(now));
  }

  /** What a batch that came to its end teaches. @param over index of the first that was over the recipients, or -1 */
  #learn(ends: readonly TransactionEnd[], over: number, late: Through | null, now: number): void {
    const { depth, depthMax, lessons, policy } = this.#owner;
    const written = ends.length;
    if (over >= 0) {
      const transactions = this.#served + over;
      const rejections = this.#rejections + ends.slice(0, over).filter(isRejection).length;
      // It was counted one by one, whatever the write held.
      const meeting = { transactions, rejections, written: 1, says: null };
      depth.broke(written, lessons.limits.met(meeting, now), now);
      return;
    }
    depth.worked(written, depthMax, now);
    if (late !== null && !this.#slow) this.#learnSlowness(late, written, now);
    if (this.#slow || !lessons.limits.isKnown) return;
    const rejections = this.#rejections + ends.filter(isRejection).length;
    lessons.limits.bore(this.#served + written, rejections, policy, now);
  }

  /** A session that was fast becomes slow: one that always was teaches nothing. */
  #learnSlowness(late: Through, written: number, now: number): void {
    this.#slow = true;
    const transactions = this.#served + late.transactions;
    const rejections = this.#rejections + late.rejections;
    const meeting = { transactions, rejections, written, says: "slow" } as const;
    if (this.#owner.lessons.limits.met(meeting, now)) this.spent = true;
  }

  /** The session ended with a batch under way: by a limit, because of too many connections, or of this very write. */
  #learnEnd(end: SessionEnd, through: Through, now: number): void {
    const { depth, lessons } = this.#owner;
    const written = this.#jobs.length;
    const believed = !this.#jobs.some(isQuoted);
    if (believed && saysCrowded(end)) {
      this.#owner.onCrowded();
      depth.broke(written, true, now);
      return;
    }
    const transactions = this.#served + through.transactions;
    const rejections = this.#rejections + through.rejections;
    const reply = end.kind === "reply" ? end.reply : through.refused;
    const says = believed && reply !== null ? limitNamed(reply) : null;
    depth.broke(written, lessons.limits.met({ transactions, rejections, written, says }, now), now);
  }

  #maySend(job: Job, now: number): boolean {
    if (job.cancelled()) job.settle(failed("mail", "cancelled", "cancelled before MAIL"), this.secure, now);
    else if (job.deadlineAt <= now) job.settle(failed("mail", "timeout", "deadline"), this.secure, now);
    else if (job.mailbox.utf8 && !this.#session.capabilities.smtputf8)
      job.settle(failed("mail", "smtputf8_missing", "SMTPUTF8 is not offered"), this.secure, now);
    return !job.settled;
  }

  #conclude(ends: readonly TransactionEnd[], now: number): void {
    const jobs = this.#jobs;
    let back = NO_JOBS;
    let again = NO_JOBS;
    this.#jobs = NO_JOBS;
    let answered = 0;
    for (let index = 0; index < jobs.length; index++) {
      const job = jobs[index] as Job;
      const end = ends[index] ?? LOST;
      if (end.kind === "reply") answered++;
      if (end.kind === "reply" && end.reply.code < 300) {
        // What nearly all ends are.
        job.settle(end, this.secure, now);
        continue;
      }
      if (isRejection(end)) this.#rejections++;
      const crowded = !isQuoted(job) && saysCrowded(end);
      if (crowded) this.#leaveToOthers();
      const blame = end.kind === "failure" ? end.blame : "own";
      if (blame === "not_reached" && job.mayRequeue()) back = [...back, job];
      else if (blame !== "own" && job.mayAskCarefully()) this.#owner.backlog.addCareful(job);
      else if (crowded && job.mayStepAside()) again = [...again, job];
      else if (this.#isStale(end, index) && job.mayRetry()) this.#owner.backlog.addFresh(job);
      else job.settle(end, this.secure, now);
    }
    this.#served += jobs.length;
    this.#count(jobs.length, answered, now);
    this.#owner.backlog.putBack(back);
    for (const job of again) this.#owner.backlog.retry(job);
  }

  #count(transactions: number, answered: number, now: number): void {
    const { traffic } = this.#owner;
    traffic.transactions += transactions;
    if (answered > 0) traffic.answered.observe((now - this.#writtenAt) / 1_000, answered);
    if (!this.#pipelined) return;
    traffic.writes++;
    traffic.groups += transactions;
  }

  /** One connection too many, and it is this: those that work take what it was asked. */
  #leaveToOthers(): void {
    this.spent = true;
    this.#owner.onCrowded();
  }

  /**
   * The end is the session's, which had served others before, and not the recipient's: hung up on, told to leave, left
   * in silence, or over its recipients. On a session's first transaction it is the true end.
   */
  #isStale(end: TransactionEnd, index: number): boolean {
    if (this.#served + index === 0) return false;
    if (end.kind === "reply") return isRecipientLimit(end.reply) || end.reply.code === 421;
    return end.blame !== "not_reached" && (end.cause === "closed" || end.cause === "timeout");
  }
}

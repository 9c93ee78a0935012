import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { AddressRace } from "../wire/address-race.ts";
import { QUIT } from "../wire/command.ts";
import type { Closure, ConnectionTarget, createConnection } from "../wire/connection.ts";
import { type Capabilities, Handshake, type HandshakeStep, type SessionEnd } from "../wire/handshake.ts";
import type { HeloName, ReversePath } from "../wire/mailbox.ts";
import type { Mta } from "../wire/mta.ts";
import type { Endpoint, Stage } from "../wire/outcome.ts";
import type { TlsPolicy } from "../wire/policy.ts";
import { createRearmableDeadline } from "../wire/rearmable-deadline.ts";
import { createReplyParser, type SmtpReply } from "../wire/reply.ts";
import { Batch, type BatchProgress, type SmtpTransaction, type TransactionEnd } from "./batch.ts";

/** An address of the host, and how to reach it. */
export interface SessionTarget extends ConnectionTarget, Endpoint {
  heloName: HeloName;
}

export interface SessionOptions {
  target: SessionTarget;
  /** See `AddressRaceOptions`. */
  others: (() => Promise<readonly SessionTarget[]>) | null;
  /** Absent: `createConnection`. */
  dial?: typeof createConnection | undefined;
  tls: TlsPolicy;
  mailFrom: ReversePath;
  clock: Clock;
}

export interface SessionHandler {
  /** The handshake is complete: `run` may be called. */
  onReady(): void;
  /**
   * The whole batch is answered, in order; `run` may be called again.
   * @param late progress when a reply first took `LIMITS.learned.slowReplyMs`; null: no reply did
   * @param now `clock.monotonic()` of the last reply: saves another call
   */
  onBatch(ends: readonly TransactionEnd[], late: BatchProgress | null, now: number): void;
  /** Called when a reply of the batch is first late: the server may be slowing the session down. True: end it now. */
  onLate(progress: BatchProgress): boolean;
  /**
   * Called once, when the connection is closed. `end` says why; `unfinished` are the ends of the current batch, empty
   * without one; `progress` is the part of it that the server had done. Not called after `destroy`.
   */
  onClosed(end: SessionEnd, unfinished: readonly TransactionEnd[], progress: BatchProgress): void;
}

/** One SMTP connection. Every stage has its timeout of `LIMITS.smtp`; one batch at a time. */
export interface Session {
  /** The connected endpoint; until then the first address that it dials. */
  readonly endpoint: Endpoint;
  /** See `SessionTimes`. */
  readonly connectedAt: number;
  readonly greetedAt: number;
  readonly securedAt: number;
  readonly capabilities: Capabilities;
  readonly secure: boolean;
  /** The server software; null: the server does not reveal it. */
  readonly mta: Mta | null;
  /** The current stage; `mail` when idle. */
  readonly stage: Stage;
  /**
   * Asks about at least one recipient; more than one only where PIPELINING is offered. Only when ready and idle.
   * @param lockStep one command at a time, whatever is offered
   * @param now `clock.monotonic()`
   */
  run(transactions: readonly SmtpTransaction[], lockStep: boolean, now: number): void;
  /** Sends QUIT; the peer closes, or `LIMITS.smtp.quitTimeoutMs` ends it. Only when ready and idle. */
  quit(): void;
  /** Closes at once, without QUIT or callback. */
  destroy(): void;
}

type Phase =
  | "connecting"
  | "handshake"
  | "securing"
  | "ready"
  | "idle"
  | "batch"
  | "verified"
  | "quitting"
  | "over";

const failure = (stage: Stage, cause: "timeout" | "protocol" | "proxy", detail: string): SessionEnd => ({
  kind: "failure",
  stage,
  cause,
  detail,
});

const NO_PROGRESS: BatchProgress = { transactions: 0, rejections: 0, refused: null };

const FAULTS = { protocol: "not an SMTP reply", reply_too_long: "reply over the bounds" } as const;

class SocketSession implements Session {
  readonly #options: SessionOptions;
  readonly #handler: SessionHandler;
  #handshake: Handshake;
  readonly #replies = createReplyParser();
  readonly #deadline;
  readonly #connection: AddressRace<SessionTarget>;
  #phase: Phase = "connecting";
  #batch: Batch | null = null;
  /** A command was written since this chunk arrived: the rest of the chunk cannot be its answer. */
  #hasWritten = false;
  /** A reply of the batch came in this chunk, and another one is awaited. */
  #awaitsMore = false;
  /** When we last wrote or received something. */
  #lastActivityAt = 0;
  readonly #onReply = (reply: SmtpReply) => this.#accept(reply);
  endpoint: SessionTarget;
  secure = false;
  connectedAt = 0;
  greetedAt = 0;
  securedAt = 0;

  constructor(options: SessionOptions, handler: SessionHandler) {
    this.#options = options;
    this.#handler = handler;
    this.endpoint = options.target;
    this.#handshake = new Handshake(options.target.heloName, options.tls);
    this.#deadline = createRearmableDeadline(options.clock, () => this.#onExpired());
    this.#deadline.arm(LIMITS.smtp.connectTimeoutMs);
    const { target: first, others, clock, dial } = options;
    this.#connection = new AddressRace(
      { first, others, clock, dial },
      {
        onAttempt: () => this.#deadline.arm(LIMITS.smtp.connectTimeoutMs),
        onConnect: (target) => this.#onConnected(target),
        onData: (chunk, bytes) => this.#read(chunk, bytes),
        onSecure: () => this.#onSecured(),
        onClose: (closure) => this.#onClosed(closure),
      },
    );
  }

  get capabilities(): Capabilities {
    return this.#handshake.capabilities;
  }

  get mta(): Mta | null {
    return this.#handshake.mta;
  }

  get stage(): Stage {
    if (this.#phase === "connecting") return "connect";
    if (this.#phase === "handshake" || this.#phase === "securing" || this.#phase === "ready")
      return this.#handshake.stage;
    return this.#batch?.stage ?? "mail";
  }

  run(transactions: readonly SmtpTransaction[], lockStep: boolean, now: number): void {
    const pipelined = this.capabilities.pipelining && !lockStep;
    this.#batch = new Batch(transactions, this.#options.mailFrom, pipelined);
    this.#phase = "batch";
    this.#lastActivityAt = now;
    this.#writeNext(this.#batch, now);
  }

  quit(): void {
    this.#phase = "quitting";
    this.#deadline.arm(LIMITS.smtp.quitTimeoutMs);
    this.#connection.write(QUIT, "latin1");
    this.#connection.end();
  }

  destroy(): void {
    this.#phase = "over";
    this.#deadline.cancel();
    this.#connection.destroy();
  }

  #writeNext(batch: Batch, now: number): void {
    this.#hasWritten = true;
    this.#deadline.arm(LIMITS.smtp.commandTimeoutMs, now);
    this.#connection.write(batch.next, batch.utf8 ? "utf8" : "latin1");
  }

  #onConnected(target: SessionTarget): void {
    if (target !== this.endpoint) this.#handshake = new Handshake(target.heloName, this.#options.tls);
    this.endpoint = target;
    this.#phase = "handshake";
    this.connectedAt = this.#options.clock.monotonic();
    this.#deadline.arm(LIMITS.smtp.greetingTimeoutMs);
  }

  #onSecured(): void {
    this.secure = true;
    this.securedAt = this.#options.clock.monotonic();
    this.#phase = "handshake";
    this.#follow(this.#handshake.onSecured());
  }

  /** Reads one chunk of replies. With no reply outstanding, leftover bytes are unsolicited. */
  #read(chunk: Buffer, bytes: number): void {
    if (this.#phase === "quitting" || this.#phase === "over") return;
    this.#hasWritten = false;
    this.#awaitsMore = false;
    if (this.#batch && this.#noteArrival(this.#batch)) {
      this.#finish({
        kind: "failure",
        stage: this.stage,
        cause: "closed",
        detail: "closed by us: replies are late",
      });
      return;
    }
    const fault = this.#replies.push(chunk, this.#onReply, bytes);
    if (this.#isOver()) return;
    if (fault !== null)
      this.#finish({ kind: "failure", stage: this.stage, cause: fault, detail: FAULTS[fault] });
    else if (this.#phase === "securing") this.#replies.reset();
    else if (this.#replies.hasPending && (this.#hasWritten || !this.#awaitsReply()))
      this.#finish(failure(this.stage, "protocol", "unsolicited bytes"));
    else if (this.#phase === "ready") this.#becomeReady();
    else if (this.#phase === "verified") this.#deliver();
    else if (this.#awaitsMore) this.#deadline.arm(LIMITS.smtp.commandTimeoutMs, this.#lastActivityAt);
  }

  /**
   * Runs once a chunk: replies that come together were not late one by one, and missing replies get their time from now.
   * @returns whether to end the session
   */
  #noteArrival(batch: Batch): boolean {
    const now = this.#options.clock.monotonic();
    const isLate = now - this.#lastActivityAt >= LIMITS.learned.slowReplyMs;
    this.#lastActivityAt = now;
    if (!isLate || batch.progressWhenLate !== null) return false;
    batch.recordLateReply();
    return this.#handler.onLate(batch.progress);
  }

  /** @returns whether to read on in this chunk */
  #accept(reply: SmtpReply): boolean {
    if (this.#hasWritten) this.#unsolicited(reply);
    else if (this.#phase === "handshake") this.#follow(this.#handshake.accept(reply));
    else if (this.#phase === "batch" && this.#batch) this.#advance(this.#batch, reply);
    else this.#unsolicited(reply);
    return this.#phase !== "over" && this.#phase !== "securing";
  }

  #follow(step: HandshakeStep): void {
    switch (step.do) {
      case "end":
        this.#finish(step.end);
        break;
      case "starttls":
        // Discard plain bytes behind the 220: they would pass for replies under TLS (command injection).
        this.#phase = "securing";
        this.#deadline.arm(LIMITS.smtp.tlsTimeoutMs);
        this.#connection.startTls();
        break;
      case "write":
        // The first write is EHLO, which answers the greeting.
        if (this.greetedAt === 0) this.greetedAt = this.#options.clock.monotonic();
        this.#hasWritten = true;
        this.#deadline.arm(LIMITS.smtp.commandTimeoutMs);
        this.#connection.write(step.text, "latin1");
        break;
      case "ready":
        this.#phase = "ready";
    }
  }

  #becomeReady(): void {
    this.#phase = "idle";
    this.#deadline.disarm();
    this.#handler.onReady();
  }

  #advance(batch: Batch, reply: SmtpReply): void {
    const step = batch.accept(reply);
    this.#awaitsMore = step === "await";
    if (this.#awaitsMore) return;
    if (step === "write") this.#writeNext(batch, this.#lastActivityAt);
    else if (step === "done") this.#phase = "verified";
    else if (step === "closing") this.#finish({ kind: "reply", stage: batch.stage, reply });
    else this.#finish(failure(batch.stage, "protocol", `${reply.code} out of step`));
  }

  /** An unsolicited reply: the server may send 421 at any time (RFC 5321 §3.8). */
  #unsolicited(reply: SmtpReply): void {
    const stage = this.#phase === "handshake" ? this.#handshake.stage : "mail";
    if (reply.code === 421) this.#finish({ kind: "reply", stage, reply });
    else this.#finish(failure(this.stage, "protocol", `unsolicited ${reply.code}`));
  }

  #deliver(): void {
    const ends = this.#batch?.ends ?? [];
    const late = this.#batch?.progressWhenLate ?? null;
    this.#batch = null;
    this.#phase = "idle";
    this.#deadline.disarm();
    this.#handler.onBatch(ends, late, this.#lastActivityAt);
  }

  #onExpired(): void {
    if (this.#connection.isAwaitingProxy) this.#finish(failure("connect", "proxy", "proxy: silent"));
    else this.#finish(failure(this.stage, "timeout", `no answer at stage ${this.stage}`));
  }

  #onClosed(closure: Closure): void {
    this.#finish({ kind: "failure", stage: this.stage, cause: closure.cause, detail: closure.detail });
  }

  #finish(bare: SessionEnd): void {
    const batch = this.#batch;
    const end = this.#located(bare);
    this.#batch = null;
    this.destroy();
    this.#handler.onClosed(end, batch ? batch.abandon(end) : [], batch?.progress ?? NO_PROGRESS);
  }

  /** `end` with the dialled addresses, unless only the first was dialled. */
  #located(end: SessionEnd): SessionEnd {
    if (end.kind === "reply" || this.#phase !== "connecting") {
      const { address, path } = this.endpoint;
      return this.endpoint === this.#options.target ? end : { ...end, at: { address, path } };
    }
    const { others } = this.#connection;
    if (others.length === 0) return end;
    const silent = { cause: "timeout", detail: end.detail } as const;
    const tried = others.map(({ target: { address, path }, closure }) => ({
      address,
      path,
      ...(closure ?? silent),
    }));
    return { ...end, tried };
  }

  #awaitsReply(): boolean {
    return this.#phase === "handshake" || this.#phase === "batch";
  }

  #isOver(): boolean {
    return this.#phase === "over";
  }
}

/** Dials at once. `handler` gets every event, never before this returns. */
export function createSession(options: SessionOptions, handler: SessionHandler): Session {
  return new SocketSession(options, handler);
}

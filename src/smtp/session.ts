import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { AddressRace } from "./address-race.ts";
import { Batch, type Through, type Transaction, type TransactionEnd } from "./batch.ts";
import { QUIT } from "./command.ts";
import type { Closure, ConnectionTarget } from "./connection.ts";
import { createDeadline } from "./deadline.ts";
import { type Capabilities, Handshake, type HandshakeStep, type SessionEnd } from "./handshake.ts";
import type { HeloName, ReversePath } from "./mailbox.ts";
import type { Mta } from "./mta.ts";
import type { Endpoint, Stage } from "./outcome.ts";
import type { TlsPolicy } from "./policy.ts";
import { createReplyParser, type Reply } from "./reply.ts";

/** An address of the host, and how it is reached. */
export interface SessionTarget extends ConnectionTarget, Endpoint {
  heloName: HeloName;
}

export interface SessionOptions {
  target: SessionTarget;
  /** As of `AddressRaceOptions`. */
  others: (() => Promise<readonly SessionTarget[]>) | null;
  tls: TlsPolicy;
  mailFrom: ReversePath;
  clock: Clock;
}

export interface SessionHandler {
  /** The handshake is through: `run` may be called. */
  onReady(): void;
  /**
   * All of a batch is answered, in order; `run` may be called again.
   * @param late what was through when a reply first took `LIMITS.learnt.slowReplyMs`; null: none did
   * @param now `clock.monotonic()` at which the last reply came: what follows on it needs no look at the clock of its own
   */
  onBatch(ends: readonly TransactionEnd[], late: Through | null, now: number): void;
  /** A reply of the batch under way was first so late that the server may have begun to slow the session down. True: end it now. */
  onLate(through: Through): boolean;
  /**
   * Once, when the connection is gone. `end` says why; `unfinished` are the ends of the batch that was under way,
   * empty when there was none; `through` is what of it the server had done. Not called after `destroy`.
   */
  onClosed(end: SessionEnd, unfinished: readonly TransactionEnd[], through: Through): void;
}

/** One SMTP connection. Every stage has its timeout of `LIMITS.smtp`; a batch at a time. */
export interface Session {
  /** Where it is connected to; until then the first address that it dials. */
  readonly endpoint: Endpoint;
  /** See `SessionTimes`. */
  readonly connectedAt: number;
  readonly greetedAt: number;
  readonly securedAt: number;
  readonly capabilities: Capabilities;
  readonly secure: boolean;
  /** What the server is; null: it does not show it. */
  readonly mta: Mta | null;
  /** Where the dialogue stands; `mail` when idle. */
  readonly stage: Stage;
  /**
   * At least one transaction; more than one only where PIPELINING is offered. Only when ready and idle.
   * @param lockStep one command at a time, whatever is offered
   * @param now `clock.monotonic()`
   */
  run(transactions: readonly Transaction[], lockStep: boolean, now: number): void;
  /** QUIT, then closed by the peer or after `LIMITS.smtp.quitTimeoutMs`. Only when ready and idle. */
  quit(): void;
  /** Gone at once, without a word or a call back. */
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

const NOTHING: Through = { transactions: 0, rejections: 0, refused: null };

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
  /** A command was written since the present chunk came: whatever else is in it cannot be the answer. */
  #asked = false;
  /** A reply of the batch came in the present chunk, and another one is awaited. */
  #goesOn = false;
  /** When the server last had its turn: something was written, or came. */
  #heardAt = 0;
  readonly #onReply = (reply: Reply) => this.#accept(reply);
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
    this.#deadline = createDeadline(options.clock, () => this.#expired());
    this.#deadline.arm(LIMITS.smtp.connectTimeoutMs);
    const { target: first, others, clock } = options;
    this.#connection = new AddressRace(
      { first, others, clock },
      {
        onAttempt: () => this.#deadline.arm(LIMITS.smtp.connectTimeoutMs),
        onConnect: (target) => this.#connected(target),
        onData: (chunk, bytes) => this.#read(chunk, bytes),
        onSecure: () => this.#secured(),
        onClose: (closure) => this.#closed(closure),
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

  run(transactions: readonly Transaction[], lockStep: boolean, now: number): void {
    const pipelined = this.capabilities.pipelining && !lockStep;
    this.#batch = new Batch(transactions, this.#options.mailFrom, pipelined);
    this.#phase = "batch";
    this.#heardAt = now;
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
    this.#asked = true;
    this.#deadline.arm(LIMITS.smtp.commandTimeoutMs, now);
    this.#connection.write(batch.next, batch.utf8 ? "utf8" : "latin1");
  }

  #connected(target: SessionTarget): void {
    if (target !== this.endpoint) this.#handshake = new Handshake(target.heloName, this.#options.tls);
    this.endpoint = target;
    this.#phase = "handshake";
    this.connectedAt = this.#options.clock.monotonic();
    this.#deadline.arm(LIMITS.smtp.greetingTimeoutMs);
  }

  #secured(): void {
    this.secure = true;
    this.securedAt = this.#options.clock.monotonic();
    this.#phase = "handshake";
    this.#follow(this.#handshake.secured());
  }

  /** One chunk of replies; what is left over when nothing is outstanding any more was never asked for. */
  #read(chunk: Buffer, bytes: number): void {
    if (this.#phase === "quitting" || this.#phase === "over") return;
    this.#asked = false;
    this.#goesOn = false;
    if (this.#batch && this.#clockIn(this.#batch)) {
      this.#finish({ kind: "failure", stage: this.stage, cause: "closed", detail: "left: answers are late" });
      return;
    }
    const fault = this.#replies.push(chunk, this.#onReply, bytes);
    if (this.#isOver()) return;
    if (fault !== null)
      this.#finish({ kind: "failure", stage: this.stage, cause: fault, detail: FAULTS[fault] });
    else if (this.#phase === "securing") this.#replies.reset();
    else if (this.#replies.pending && (this.#asked || !this.#awaitsReply()))
      this.#finish(failure(this.stage, "protocol", "unsolicited bytes"));
    else if (this.#phase === "ready") this.#becomeReady();
    else if (this.#phase === "verified") this.#deliver();
    else if (this.#goesOn) this.#deadline.arm(LIMITS.smtp.commandTimeoutMs, this.#heardAt);
  }

  /**
   * Once a chunk: replies that come together were not late one by one, and what is still missing has its time from now.
   * @returns whether the session is to be ended
   */
  #clockIn(batch: Batch): boolean {
    const now = this.#options.clock.monotonic();
    const isLate = now - this.#heardAt >= LIMITS.learnt.slowReplyMs;
    this.#heardAt = now;
    if (!isLate || batch.late !== null) return false;
    batch.noteLate();
    return this.#handler.onLate(batch.through);
  }

  /** @returns whether to read on in this chunk. */
  #accept(reply: Reply): boolean {
    if (this.#asked) this.#unsolicited(reply);
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
        // Plain bytes behind the 220 are discarded: they would pass for replies under TLS (command injection).
        this.#phase = "securing";
        this.#deadline.arm(LIMITS.smtp.tlsTimeoutMs);
        this.#connection.startTls();
        break;
      case "write":
        // The first that is written is EHLO, which the greeting is answered with.
        if (this.greetedAt === 0) this.greetedAt = this.#options.clock.monotonic();
        this.#asked = true;
        this.#deadline.arm(LIMITS.smtp.commandTimeoutMs);
        this.#connection.write(step.text, "latin1");
        break;
      case "ready":
        this.#phase = "ready";
    }
  }

  #becomeReady(): void {
    this.#phase = "idle";
    this.#deadline.rest();
    this.#handler.onReady();
  }

  #advance(batch: Batch, reply: Reply): void {
    const step = batch.accept(reply);
    this.#goesOn = step === "await";
    if (this.#goesOn) return;
    if (step === "write") this.#writeNext(batch, this.#heardAt);
    else if (step === "done") this.#phase = "verified";
    else if (step === "closing") this.#finish({ kind: "reply", stage: batch.stage, reply });
    else this.#finish(failure(batch.stage, "protocol", `${reply.code} out of step`));
  }

  /** A reply that nothing asked for: 421 is the server's right at any time (RFC 5321 §3.8). */
  #unsolicited(reply: Reply): void {
    const stage = this.#phase === "handshake" ? this.#handshake.stage : "mail";
    if (reply.code === 421) this.#finish({ kind: "reply", stage, reply });
    else this.#finish(failure(this.stage, "protocol", `unsolicited ${reply.code}`));
  }

  #deliver(): void {
    const ends = this.#batch?.ends ?? [];
    const late = this.#batch?.late ?? null;
    this.#batch = null;
    this.#phase = "idle";
    this.#deadline.rest();
    this.#handler.onBatch(ends, late, this.#heardAt);
  }

  #expired(): void {
    if (this.#connection.atProxy) this.#finish(failure("connect", "proxy", "proxy: silent"));
    else this.#finish(failure(this.stage, "timeout", `no answer at stage ${this.stage}`));
  }

  #closed(closure: Closure): void {
    this.#finish({ kind: "failure", stage: this.stage, cause: closure.cause, detail: closure.detail });
  }

  #finish(bare: SessionEnd): void {
    const batch = this.#batch;
    const end = this.#located(bare);
    this.#batch = null;
    this.destroy();
    this.#handler.onClosed(end, batch ? batch.abandon(end) : [], batch?.through ?? NOTHING);
  }

  /** `end` with the addresses that it is about, unless that is the first one alone. */
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

/** Dials at once; `handler` hears of everything, never before this returns. */
export function createSession(options: SessionOptions, handler: SessionHandler): Session {
  return new SocketSession(options, handler);
}

import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Actor } from "../services/actor.ts";
import type { CachedCredential } from "../services/authenticate/cache.ts";
import type { Place } from "../services/verify/admission.ts";
import type { AnswerNote } from "../services/verify/answer-note.ts";
import { type DrawnRow, jsonOf } from "../services/verify/draw-rows.ts";
import type { Boarded } from "../services/verify/flights.ts";
import type { MissAsker, MissingAnswers } from "../services/verify/missing-answers.ts";
import type { Question } from "../services/verify/question.ts";
import type { Desk, ReadyAnswers } from "../services/verify/ready-answers.ts";
import type { VerificationResult } from "../services/verify/verification-result.ts";
import { createAnswerBody } from "./answer-body.ts";
import type { Gate } from "./dispatch.ts";
import type { Failures } from "./failures.ts";
import type { FieldSource } from "./framing.ts";
import { CLIENT_CLOSED, type Observed, type RequestObserver } from "./observe.ts";
import { createPlainFields } from "./plain-fields.ts";
import { Reply } from "./reply.ts";
import { type RequestIds, saneRequestId } from "./request-id.ts";
import { bodyBytes, type RateLimitFields, type ResponseWriter, writeReply } from "./respond.ts";
import type { ShortHeads } from "./short-head.ts";
import { SHORT_PATH } from "./short-way.ts";
import type { UnderWay } from "./under-way.ts";

export interface ShortMissDeps {
  missing: MissingAnswers;
  answers: Pick<ReadyAnswers, "deskOf">;
  credentials: {
    known(authorization: string, nowMs: number): CachedCredential | null;
    use(credential: CachedCredential, nowMs: number): void;
  };
  gate: Pick<Gate, "rateLimitHeaders">;
  failures: Failures;
  underWay: UnderWay;
  /** Every answer closes its connection. */
  isLeaving(): boolean;
  clock: Clock;
  log: Logger;
  observer: RequestObserver;
  ids: RequestIds;
  heads: ShortHeads;
}

/** uWebSockets.js' response. */
export interface LaterWriter extends Omit<ResponseWriter, "writeStatus" | "end"> {
  writeStatus(status: string | Uint8Array): unknown;
  end(body: string | Uint8Array, closeConnection?: boolean): unknown;
  cork(write: () => void): unknown;
  onAborted(callback: () => void): unknown;
}

/**
 * GET /v1/verify of what is not known here, from uWebSockets.js' request to its response without a request, a match, a reply or a
 * promise in between: as the general way would (test/integration/http/short-miss.test.ts holds the two to each other) or not at
 * all. What fails, and what is answered by a process that is leaving, is written as the general way does.
 */
export interface ShortMiss {
  /** False: nothing was done, the general way has to answer. */
  ask(response: LaterWriter, source: FieldSource, rawQuery: string, nowMs: number): boolean;
}

const PARAMETER = "email=";
/** Nothing that stands for something else, in a query or in an address. */
const PLAIN = /^[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+$/;

/** The address, where the query is nothing else and it is plain; null: the general way reads it. */
export function plainEmail(rawQuery: string): string | null {
  if (!rawQuery.startsWith(PARAMETER) || rawQuery.length > LIMITS.http.emailBytes) return null;
  const at = rawQuery.indexOf("%40");
  const email =
    at === -1
      ? rawQuery.slice(PARAMETER.length)
      : `${rawQuery.slice(PARAMETER.length, at)}@${rawQuery.slice(at + 3)}`;
  return PLAIN.test(email) ? email : null;
}

/** What a request asks of who serves it. */
interface House {
  answer(miss: Miss, result: VerificationResult, drawn: DrawnRow | null): void;
  fail(miss: Miss, error: unknown): void;
  /** Its client has gone. */
  abort(miss: Miss): void;
  ended(): void;
  /** The one of ours that was given last. */
  lastId(): string;
}

/** A request on its way: all that is held of it. */
class Miss implements MissAsker, Observed {
  readonly response: LaterWriter;
  readonly email: string;
  readonly credential: CachedCredential;
  readonly desk: Desk;
  readonly startedMs: number;
  /** Its id where that is known as text: the caller's. null: the next of ours, written when it is answered. */
  idText: string | null;
  place: Place | null = null;
  question: Question | null = null;
  note: AnswerNote | null = null;
  boarded: Boarded | null = null;
  /** Answered or aborted: the native response must not be touched any more. */
  isOver = false;
  readonly #house: House;

  constructor(
    house: House,
    response: LaterWriter,
    { email, credential, desk }: Pick<Miss, "email" | "credential" | "desk">,
    idText: string | null,
    startedMs: number,
  ) {
    this.#house = house;
    this.response = response;
    this.email = email;
    this.credential = credential;
    this.desk = desk;
    this.idText = idText;
    this.startedMs = startedMs;
  }

  get method(): string {
    return "GET";
  }

  get id(): string {
    return this.idText ?? this.#house.lastId();
  }

  get actor(): Actor {
    return this.credential.actor;
  }

  cancelled(): boolean {
    return this.isOver;
  }

  answered(result: VerificationResult, drawn: DrawnRow | null): void {
    const isTold = !this.isOver;
    this.isOver = true;
    if (isTold) this.#house.answer(this, result, drawn);
    this.#house.ended();
  }

  failed(error: unknown): void {
    const isTold = !this.isOver;
    this.isOver = true;
    if (isTold) this.#house.fail(this, error);
    this.#house.ended();
  }

  /** Its client has gone: nobody is told any more. */
  aborted(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#house.abort(this);
    this.boarded?.leave();
  }
}

export function createShortMiss(deps: ShortMissDeps): ShortMiss {
  const { clock, credentials, heads, ids, missing, observer, underWay } = deps;
  const fields = createPlainFields();
  const finished = observer.laterGets(SHORT_PATH);
  const body = createAnswerBody();
  /** The answer in hand: `writeDrawn` is handed to the server for each of them, where a closure would be made and held for each. */
  let asked: Miss | null = null;
  let answer: DrawnRow | null = null;

  function writeDrawn(): void {
    if (asked === null || answer === null) throw new Error("there is no answer in hand");
    const { response, desk, idText } = asked;
    const bytes = body.fill(answer);
    heads.write(response, desk, idText, clock.monotonic());
    response.end(bytes);
    finished(asked, bytes.length);
  }

  /** An answer is worth more than its limits' description. */
  function rateFields(actor: Actor): RateLimitFields | null {
    try {
      return deps.gate.rateLimitHeaders(actor);
    } catch (error) {
      deps.log.error({ err: error }, "the rate limit could not be described");
      return null;
    }
  }

  /** As the general way does. */
  function send(miss: Miss, reply: Reply): void {
    const { response, actor } = miss;
    const rate = rateFields(actor);
    const options = { requestId: miss.id, rate, cors: "", headOnly: false, close: deps.isLeaving() };
    response.cork(() => writeReply(response, reply, options));
    const outcome = { status: reply.status, bytes: bodyBytes(reply), code: reply.code, headMs: null };
    observer.finished(miss, SHORT_PATH, outcome);
  }

  const house: House = {
    answer(miss, result, drawn) {
      if (drawn === null || deps.isLeaving()) {
        miss.idText ??= ids.next();
        send(miss, new Reply(200, drawn === null ? JSON.stringify(result) : jsonOf(drawn)));
        return;
      }
      asked = miss;
      answer = drawn;
      miss.response.cork(writeDrawn);
      asked = null;
      answer = null;
    },
    fail(miss, error) {
      miss.idText ??= ids.next();
      send(miss, deps.failures.replyTo(error, { id: miss.id, route: SHORT_PATH }));
    },
    abort(miss) {
      miss.idText ??= ids.next();
      const outcome = { status: CLIENT_CLOSED, bytes: 0, code: null, headMs: null };
      observer.finished(miss, SHORT_PATH, outcome);
    },
    ended: () => underWay.ended(),
    lastId: ids.last,
  };

  /** Whoever is known, and asks plainly; null: somebody else. */
  function read(source: FieldSource, nowMs: number): CachedCredential | null {
    const credential = fields.read(source) ? credentials.known(fields.authorization, nowMs) : null;
    fields.forget();
    return credential;
  }

  /** null: not plain, or nobody is known who asks. @throws AppError where the general way would, too */
  function prepare(response: LaterWriter, source: FieldSource, rawQuery: string, nowMs: number): Miss | null {
    const email = plainEmail(rawQuery);
    const credential = email === null ? null : read(source, nowMs);
    if (email === null || credential === null) return null;
    const desk = deps.answers.deskOf(credential.actor);
    return new Miss(house, response, { email, credential, desk }, saneRequestId(fields.requestId), nowMs);
  }

  return {
    ask(response, source, rawQuery, nowMs) {
      let miss: Miss | null = null;
      try {
        miss = prepare(response, source, rawQuery, nowMs);
        if (miss === null) return false;
        underWay.begun();
        miss.boarded = missing.ask(miss);
      } catch (error) {
        // The general way says it to who asked.
        if (!(error instanceof AppError)) deps.log.error({ err: error }, "the short way to a check failed");
      }
      if (miss === null) return false;
      if (miss.boarded === null) {
        underWay.ended();
        return false;
      }
      credentials.use(miss.credential, nowMs);
      // Who was told within the call needs no word of what becomes of the connection.
      const asked = miss;
      if (!asked.isOver) response.onAborted(() => asked.aborted());
      return true;
    },
  };
}

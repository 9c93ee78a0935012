import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { TaskOwner } from "../../platform/request-thread.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import { createReceiveSlots } from "../uploads/receive-slots.ts";
import { type AccuracyReader, createAccuracyReader } from "./accuracy.ts";
import { type FinishedReport, finishReport, type ReportTerms } from "./finished-report.ts";
import { type JsonEvent, readJsonEvents } from "./read/json-events.ts";
import type { TableOptions } from "./read/table.ts";
import { createRecordFeedback, type Recorded, type RecordFeedbackDeps } from "./record.ts";

/** A file of events, which is received when it is asked for. */
export interface FeedbackFile {
  /** Of at most LIMITS.feedback.fileBytes. @throws AppError `body_too_large`, `overloaded` */
  readonly bytes: Promise<Uint8Array>;
}

/** Outcomes of messages: teams report them, and see the accuracy of the answers. Each team sees only its own. */
export interface Feedback {
  /** @throws AppError as `RecordFeedback.record`; `overloaded` */
  record(actor: Actor, events: readonly JsonEvent[], isCancelled: () => boolean): Promise<Recorded>;
  /**
   * The same of a file: see `readFeedbackFile`.
   * @throws AppError also `body_too_large`, `rate_limited`, and what reading the file throws
   */
  recordFile(
    actor: Actor,
    file: FeedbackFile,
    options: TableOptions,
    isCancelled: () => boolean,
  ): Promise<Recorded>;
  accuracy: AccuracyReader["read"];
}

/** Reads events off the event loop. @throws AppError `overloaded`, `limit_reached`, and what reading throws */
export interface FeedbackReading {
  /** @throws AppError `limit_reached` when reading for the share (`shareKey`) has taken its time of the day */
  requireTime(share: string): void;
  /** @param bytes given away */
  readFile(
    bytes: Uint8Array<ArrayBuffer>,
    options: TableOptions,
    terms: ReportTerms,
    owner: TaskOwner,
  ): Promise<FinishedReport>;
  readEvents(events: readonly JsonEvent[], terms: ReportTerms, owner: TaskOwner): Promise<FinishedReport>;
}

/** @throws AppError those of `FeedbackFile.bytes` */
async function receive(file: FeedbackFile): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return (await file.bytes) as Uint8Array<ArrayBuffer>;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "body_too_large") throw error;
    throw new AppError(
      "body_too_large",
      `The file has over ${LIMITS.feedback.fileBytes} bytes. Send it in parts, or with \`rcpt feedback FILE\`, which reads ` +
        "it on your machine.",
    );
  }
}

/** Whether reading takes about a millisecond, so that it need not go to a thread. */
function isShort(events: readonly JsonEvent[]): boolean {
  const { bouncesReadHere, addressCharsReadHere } = LIMITS.feedback;
  const bounces = events.filter(({ outcome }) => outcome === "bounced").length;
  const chars = events.reduce((sum, { address }) => sum + address.length, 0);
  return bounces <= bouncesReadHere && chars <= addressCharsReadHere;
}

export interface FeedbackDeps extends RecordFeedbackDeps {
  reading: FeedbackReading;
  /** Names of providers as answers have them. */
  providers: Iterable<string>;
}

export function createFeedback(deps: FeedbackDeps): Feedback {
  const { reading, clock } = deps;
  const providers = [...deps.providers];
  const { requireRoom, record: store } = createRecordFeedback(deps);
  const accuracy = createAccuracyReader(deps.sql, clock);
  const slots = createReceiveSlots(LIMITS.feedback.files);

  async function record(actor: Actor, report: FinishedReport): Promise<Recorded> {
    const recorded = await store(actor, report);
    if (actor.livemode && recorded.accepted > 0) accuracy.forget(actor.teamId);
    return recorded;
  }

  const termsOf = ({ teamId, limits }: Actor): ReportTerms => ({
    ...{ teamId, nowMs: clock.now(), providers },
    mayWithdraw: limits.refresh && limits.probing,
  });

  return {
    async record(actor, events, isCancelled) {
      const terms = termsOf(actor);
      if (isShort(events)) return record(actor, finishReport(readJsonEvents(events), terms));
      await requireRoom(actor);
      return record(actor, await reading.readEvents(events, terms, { share: shareKey(actor), isCancelled }));
    },

    async recordFile(actor, file, options, isCancelled) {
      // Until the report is stored: its rows take as much memory as the file, which is counted with the bodies.
      const release = slots.take(shareKey(actor));
      try {
        reading.requireTime(shareKey(actor));
        await requireRoom(actor);
        const bytes = await receive(file);
        const owner = { share: shareKey(actor), isCancelled };
        return await record(actor, await reading.readFile(bytes, options, termsOf(actor), owner));
      } finally {
        release();
      }
    },

    accuracy: accuracy.read,
  };
}

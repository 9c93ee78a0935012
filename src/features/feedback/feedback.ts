import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { TaskOwner } from "../../platform/request-thread.ts";
import type { Actor } from "../identity/actor.ts";
import { createReceiveSlots } from "../uploads/receive-slots.ts";
import { createReadAccuracy, type ReadAccuracy } from "./accuracy.ts";
import type { ReportedEvent } from "./event.ts";
import { type JsonEvent, readJsonEvents } from "./read/json-events.ts";
import type { FileReading, TableOptions } from "./read/table.ts";
import { createRecordFeedback, type Recorded, type RecordFeedbackDeps } from "./record.ts";

/** A file of events as it comes. */
export interface FeedbackFile {
  read(limitBytes: number, tooLong: () => AppError): AsyncIterable<Uint8Array>;
}

/** Outcomes of messages: teams report them, and see the accuracy of the answers. Each team sees only its own. */
export interface Feedback {
  /** @throws AppError as `RecordFeedback`; `overloaded` */
  record(actor: Actor, events: readonly JsonEvent[], isCancelled: () => boolean): Promise<Recorded>;
  /**
   * The same of a file: see `readFeedbackFile`.
   * @throws AppError also `body_too_large`, and what reading the file throws
   */
  recordFile(
    actor: Actor,
    file: FeedbackFile,
    options: TableOptions,
    isCancelled: () => boolean,
  ): Promise<Recorded>;
  accuracy: ReadAccuracy;
}

/** Reads events off the event loop. @throws AppError `overloaded`, and what reading throws */
export interface FeedbackReading {
  readFile(bytes: Buffer, options: TableOptions, owner: TaskOwner): Promise<FileReading>;
  readEvents(events: readonly JsonEvent[], owner: TaskOwner): Promise<ReportedEvent[]>;
}

function tooLarge(): AppError {
  const { fileBytes } = LIMITS.feedback;
  return new AppError(
    "body_too_large",
    `The file has over ${fileBytes} bytes. Send it in parts, or with \`rcpt feedback FILE\`, which reads it on your machine.`,
  );
}

async function collect(file: FeedbackFile): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.read(LIMITS.feedback.fileBytes, tooLarge)) pieces.push(piece);
  return Buffer.concat(pieces);
}

export function createFeedback(deps: RecordFeedbackDeps & { reading: FeedbackReading }): Feedback {
  const { reading } = deps;
  const record = createRecordFeedback(deps);
  const slots = createReceiveSlots(LIMITS.feedback.files);

  async function readFile(file: FeedbackFile, options: TableOptions, owner: TaskOwner): Promise<FileReading> {
    const release = slots.take(owner.teamId);
    try {
      return await reading.readFile(await collect(file), options, owner);
    } finally {
      release();
    }
  }

  return {
    async record(actor, events, isCancelled) {
      const bounces = events.filter(({ outcome }) => outcome === "bounced").length;
      const isShort = bounces <= LIMITS.feedback.bouncesReadHere;
      const owner = { teamId: actor.teamId, isCancelled };
      return record(actor, isShort ? readJsonEvents(events) : await reading.readEvents(events, owner));
    },

    async recordFile(actor, file, options, isCancelled) {
      const { events, ignored } = await readFile(file, options, { teamId: actor.teamId, isCancelled });
      const recorded = await record(actor, events);
      return { ...recorded, ignored: recorded.ignored + ignored };
    },

    accuracy: createReadAccuracy(deps.sql),
  };
}

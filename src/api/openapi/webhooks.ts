import * as v from "valibot";
import { BulkJobSchema, completedJob, failedJob, queuedJob } from "../schemas/bulk.ts";
import { named } from "../schemas/fields.ts";
import type { Json, Schemas } from "./schemas.ts";

const text = (description: string) => v.pipe(v.string(), v.description(description));
const cancelledJob = { ...queuedJob, status: "cancelled" as const, completed_at: "2026-01-01T00:00:01.000Z" };

/** The events at the end of a job, sent to webhooks and to the `webhook_url` of the job. */
const BULK_EVENTS = [
  { type: "bulk.completed", summary: "A job is completed", example: completedJob },
  { type: "bulk.failed", summary: "A job has failed", example: failedJob },
  { type: "bulk.cancelled", summary: "A job was cancelled", example: cancelledJob },
] as const;

const HEADERS = {
  "webhook-id": "The event's id: the same whenever it is sent again.",
  "webhook-timestamp": "When this attempt was signed, in seconds since 1970.",
  "webhook-signature":
    "`v1,` and a signature in base64, one or more, separated by spaces (Standard Webhooks).",
};

/** `bulk.completed` → `onBulkCompleted`. */
const operationName = (type: string) =>
  `on${type.replace(/(?:^|\.)(\w)/g, (_, first: string) => first.toUpperCase())}`;

/** The body of an event of `type`. */
export function eventSchema(type: string) {
  return named(
    `${operationName(type).slice(2)}Event`,
    v.object({
      id: text("The event's id, `evt_…`."),
      type: v.pipe(v.literal(type), v.description("What has happened.")),
      timestamp: v.pipe(v.string(), v.isoTimestamp(), v.description("When it happened.")),
      livemode: v.pipe(v.boolean(), v.description("False for what test keys have done.")),
      data: v.pipe(
        BulkJobSchema,
        v.description("The job as it ended, as `GET /v1/bulk-jobs/{id}` shows it."),
      ),
    }),
  );
}

/** The `webhooks` of the document. */
export function webhooksOf(schemas: Schemas): Json {
  const parameters = Object.entries(HEADERS).map(([name, description]) => ({
    name,
    in: "header",
    required: true,
    description,
    schema: { type: "string" },
  }));
  const operation = ({ type, summary, example }: (typeof BULK_EVENTS)[number]) => {
    const { completed_at: timestamp, livemode } = example;
    const event = { id: "evt_01h455vb4pex5vsknk084sn02q", type, timestamp, livemode, data: example };
    return {
      operationId: operationName(type),
      summary,
      tags: ["webhooks"],
      parameters,
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemas.output(eventSchema(type)), example: event } },
      },
      responses: { "2XX": { description: "Heard; anything else is tried again." } },
    };
  };
  return Object.fromEntries(BULK_EVENTS.map((event) => [event.type, { post: operation(event) }]));
}

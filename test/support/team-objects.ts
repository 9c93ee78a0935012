import assert from "node:assert/strict";
import type { TestApi } from "./service.ts";
import { until } from "./until.ts";

/** Values of the parameters of a path, by name. */
export type PathParams = Record<string, string>;

export interface CreatedResource {
  id: string;
  livemode: boolean;
}

/** A resource that a test creates with `key`, and how it is named in a path. */
export type CreateObject = (key: string) => Promise<PathParams>;

/** An operation on one resource; `body` is sent. */
export interface ObjectOperation {
  by: CreateObject;
  body?: unknown;
}

/** Nothing listens there: deliveries fail and are kept. */
export const HOOK_URL = "http://127.0.0.1:18099/hook";
const IN_PARTS = { filename: "list.csv", bytes: 10, part_bytes: 5_242_880 };

/** Creates the resources that belong to a mode of a team, through the API. */
export function createTeamObjects(apiOf: () => TestApi) {
  async function make<T extends object = CreatedResource>(
    key: string,
    path: string,
    body?: unknown,
  ): Promise<T> {
    const made = await apiOf().send<T>("POST", path, { key, ...(body === undefined ? {} : { body }) });
    assert.ok(made.status < 300, `${path}: ${made.status} ${JSON.stringify(made.body)}`);
    return made.body;
  }
  const job: CreateObject = async (key) => {
    const { id } = await make(key, "/v1/verify/bulk", { emails: ["valid@plain.test"] });
    return { id };
  };
  /** A job that has ended, so that the stream of its events ends too. */
  const endedJob: CreateObject = async (key) => {
    const params = await job(key);
    await make(key, `/v1/bulk-jobs/${params.id}/cancel`);
    return params;
  };
  const upload: CreateObject = async (key) => ({
    upload: (await make(key, "/v1/uploads", { filename: "list.csv" })).id,
  });
  const partedUpload: CreateObject = async (key) => ({
    upload: (await make(key, "/v1/uploads", IN_PARTS)).id,
  });
  const webhook: CreateObject = async (key) => ({
    id: (await make(key, "/v1/webhooks", { url: HOOK_URL })).id,
  });
  const delivery: CreateObject = async (key) => {
    const { id = "" } = await webhook(key);
    await make(key, `/v1/webhooks/${id}/ping`);
    const made = await until("the ping has a delivery", async () => {
      const path = `/v1/webhooks/${id}/deliveries`;
      const log = await apiOf().send<{ data: { id: string }[] }>("GET", path, { key });
      return log.body.data[0] ?? null;
    });
    return { id, delivery_id: made.id };
  };
  const event: CreateObject = async (key) => {
    const { id = "" } = await webhook(key);
    return { event: (await make<{ event_id: string }>(key, `/v1/webhooks/${id}/ping`)).event_id };
  };
  return { make, job, endedJob, upload, partedUpload, webhook, delivery, event };
}

export type TeamObjects = ReturnType<typeof createTeamObjects>;

/** Every operation on one resource with a mode, by method and path. */
export const operationsOnObjects = (objects: TeamObjects): Record<string, ObjectOperation> => ({
  "GET /v1/bulk-jobs/{id}": { by: objects.job },
  "POST /v1/bulk-jobs/{id}/cancel": { by: objects.job },
  "DELETE /v1/bulk-jobs/{id}": { by: objects.job },
  "GET /v1/bulk-jobs/{id}/results": { by: objects.job },
  "GET /v1/bulk-jobs/{id}/deferred": { by: objects.job },
  "GET /v1/bulk-jobs/{id}/providers": { by: objects.job },
  "GET /v1/bulk-jobs/{id}/events": { by: objects.endedJob },
  "GET /v1/uploads/{upload}": { by: objects.upload },
  "GET /v1/uploads/{upload}/parts": { by: objects.partedUpload },
  "POST /v1/uploads/{upload}/complete": { by: objects.upload },
  "POST /v1/uploads/{upload}/preview": { by: objects.upload, body: {} },
  "DELETE /v1/uploads/{upload}": { by: objects.upload },
  "PATCH /v1/webhooks/{id}": { by: objects.webhook, body: { description: "mine now", status: "disabled" } },
  "DELETE /v1/webhooks/{id}": { by: objects.webhook },
  "POST /v1/webhooks/{id}/rotate-secret": { by: objects.webhook },
  "GET /v1/webhooks/{id}/deliveries": { by: objects.webhook },
  "POST /v1/webhooks/{id}/ping": { by: objects.webhook },
  "GET /v1/webhooks/{id}/deliveries/{delivery_id}": { by: objects.delivery },
  "POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver": { by: objects.delivery },
});

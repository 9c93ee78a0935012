import assert from "node:assert/strict";
import { it } from "node:test";
import { createUploadRoutes } from "../../../src/api/routes/uploads.ts";
import type { StoredResponse } from "../../../src/features/idempotency/idempotency-sql.ts";
import type { Uploads } from "../../../src/features/uploads/uploads.ts";
import { openGate, postJson, startServer } from "./harness.ts";

it("the answer with an upload's URL is kept no longer than the URL holds", async () => {
  const expires_at = "2026-03-01T12:00:00.000Z";
  const kept: StoredResponse[] = [];
  const gate = openGate({
    idempotency: {
      begin: async () => ({
        settle: async (answer) => void kept.push(answer),
        release: () => Promise.resolve(),
      }),
      drain: () => Promise.resolve(),
    },
  });
  const uploads = { create: async () => ({ id: "upl_1", url: "https://s3.example", expires_at }) };
  const server = await startServer({ gate, extraRoutes: createUploadRoutes(uploads as unknown as Uploads) });
  try {
    const reply = await postJson(server.port, "/v1/uploads", '{"filename":"a.csv"}', "Idempotency-Key: k");
    assert.equal(reply.status, 201);
    assert.deepEqual(
      kept.map(({ holdsUntil }) => holdsUntil?.toISOString()),
      [expires_at],
    );
  } finally {
    await server.close();
  }
});

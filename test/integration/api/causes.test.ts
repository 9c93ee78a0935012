import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { teamRoute } from "../../../src/api/routing/route.ts";
import { AppError, type ErrorCode } from "../../../src/platform/errors.ts";
import { get, type Harness, startServer } from "./harness.ts";

/** Internal cause of an error; the caller sees little of it. */
const cause = new Error("the disk is full");
let thrown: AppError;
let server: Harness;

before(async () => {
  const failing = teamRoute({
    method: "GET",
    path: "/v1/failing",
    operationId: "fail",
    summary: "Fail",
    tag: "test",
    role: "member",
    rate: "read",
    errors: [],
    success: { status: 200, description: "Never", schema: v.unknown() },
    handler: () => Promise.reject(thrown),
  });
  server = await startServer({ extraRoutes: [failing] });
});
after(() => server.close());

async function loggedOf(code: ErrorCode, options: { cause?: unknown }): Promise<unknown[]> {
  thrown = new AppError(code, "Told.", options);
  server.logged.length = 0;
  const reply = await get(server.port, "/v1/failing");
  assert.equal(reply.status, thrown.status);
  assert.ok(!JSON.stringify(reply.json()).includes("disk"));
  return server.logged
    .filter(({ message }) => message === "a request failed for a cause")
    .map(({ err }) => err);
}

describe("the cause of an error", () => {
  it("is logged when the error is ours, and never in an answer", async () => {
    assert.deepEqual(await loggedOf("unavailable", { cause }), [thrown]);
    assert.equal(thrown.cause, cause);
  });

  it("is not logged when it is the caller's, or when there is none", async () => {
    assert.deepEqual(await loggedOf("not_found", { cause }), []);
    assert.deepEqual(await loggedOf("unavailable", {}), []);
  });
});

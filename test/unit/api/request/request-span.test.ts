import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HttpRequest } from "../../../../src/api/request/request.ts";
import { spanOfEnded } from "../../../../src/api/request/request-span.ts";
import type { Route } from "../../../../src/api/routing/route.ts";
import { dispatch, type RequestGate } from "../../../../src/api/server/dispatch.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import type { SampledRequest, Tracer } from "../../../../src/platform/telemetry/tracing.ts";
import { RecordedSpan } from "../../../support/recorded-span.ts";

const ACTOR = { teamId: "team_1", role: "member", livemode: true } as Actor;
const SAMPLED: SampledRequest = { parent: null };

/** A request that is to be recorded, and the share from which its span was taken. */
function setUp(authenticate: RequestGate["authenticate"]) {
  const taken: string[] = [];
  const begin = (share: string) => (name: string, sampled: SampledRequest, startMs: number) => {
    assert.equal(sampled, SAMPLED);
    taken.push(share);
    return new RecordedSpan(name, { startMs });
  };
  const by = {
    startRequest: begin("known"),
    startUnauthenticatedRequest: begin("strangers"),
  } as Partial<Tracer> as Tracer;
  const request = new HttpRequest({
    ...{ id: "req_1", method: "GET", path: "/x", rawQuery: "", startedMs: 7 },
  });
  request.sampled = { by, as: SAMPLED };
  const invoked: unknown[] = [];
  const route = {
    ...{ method: "GET", path: "/x", access: { role: "member" }, rate: "write" },
    invoke: ({ span }: HttpRequest) => void invoked.push(span),
  } as unknown as Route;
  const gate = { authenticate, rateLimit: { take: () => {} } } as Partial<RequestGate> as RequestGate;
  return { taken, request, invoked, route, gate };
}

describe("the span of a request", () => {
  it("is available to the handler once the sender is authenticated, and begins with the request", async () => {
    for (const waits of [false, true]) {
      const actor = waits ? Promise.resolve(ACTOR) : ACTOR;
      const { gate, route, request, taken, invoked } = setUp(() => actor);
      await dispatch(gate, route, request);
      const span = request.span as RecordedSpan;
      assert.deepEqual([taken, invoked, span.startMs], [["known"], [span], 7]);
      const children = span.children.map(({ name, startMs, endMs }) => [name, startMs, endMs !== null]);
      assert.deepEqual(children, waits ? [["authenticate", 7, true]] : []);
      assert.equal(spanOfEnded(request), span);
      assert.deepEqual(taken, ["known"]);
    }
  });

  it("is unauthenticated where its credential is invalid, or it has ended before that was known", async () => {
    const refused = setUp(() => Promise.reject(new AppError("unauthorized", "No.")));
    await assert.rejects(async () => dispatch(refused.gate, refused.route, refused.request));
    assert.deepEqual(refused.taken, []);
    assert.notEqual(spanOfEnded(refused.request), null);
    assert.deepEqual(refused.taken, ["strangers"]);

    let resolve = (_: Actor) => {};
    const promise = new Promise<Actor>((settle) => {
      resolve = settle;
    });
    const left = setUp(() => promise);
    const served = dispatch(left.gate, left.route, left.request);
    spanOfEnded(left.request);
    resolve(ACTOR);
    await served;
    assert.deepEqual([left.taken, left.request.span], [["strangers"], null]);
  });

  it("is unauthenticated on a public route without a credential", async () => {
    const { gate, request, taken } = setUp(() => assert.fail("nobody asks"));
    const route = { access: "public", invoke: () => {} } as unknown as Route;
    await dispatch(gate, route, request);
    assert.notEqual(spanOfEnded(request), null);
    assert.deepEqual(taken, ["strangers"]);
  });
});

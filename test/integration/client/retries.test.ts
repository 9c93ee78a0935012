import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type Client,
  type ClientOptions,
  createClient,
  RcptError,
} from "../../../packages/client/src/index.ts";
import {
  type ScriptedServer,
  startScripted,
  withBroken,
  withJson,
  withProblem,
  withReset,
  withText,
} from "../../support/scripted-server.ts";
import { type Answering, inSilence } from "../../support/webhook-receiver.ts";

const VALID = withJson({ verdict: "valid" });

async function served(
  t: TestContext,
  script: Answering[],
  options: Partial<ClientOptions> = {},
): Promise<{ server: ScriptedServer; client: Client }> {
  const server = await startScripted(script);
  t.after(() => server.close());
  return { server, client: createClient({ url: server.url, key: "rcpt_test_x", ...options }) };
}

/** The error of a call, which must be an RcptError. */
async function errorOf(call: Promise<unknown>): Promise<RcptError> {
  const error = await call.then(
    () => assert.fail("it has an answer"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RcptError, String(error));
  return error;
}

describe("a request that fails", { concurrency: true }, () => {
  it("is sent again no sooner than Retry-After says", async (t) => {
    const { server, client } = await served(t, [
      withProblem(429, "rate_limited", { "Retry-After": "1" }),
      VALID,
    ]);
    const begunMs = performance.now();
    assert.equal((await client.verify("a@example.com")).verdict, "valid");
    assert.ok(performance.now() - begunMs >= 1_000);
    assert.equal(server.received.length, 2);
    assert.equal(server.received[0]?.headers.authorization, "Bearer rcpt_test_x");
  });

  it("is sent again after 503, a gateway's refusal, a lost connection and a body that breaks off", async (t) => {
    const head = { "Content-Type": "application/json", "Content-Length": "100" };
    const failures = [
      withProblem(503, "unavailable"),
      withText("<html>", {}, 502),
      withReset,
      withBroken('{"verd', head),
    ];
    const { server, client } = await served(t, [...failures, VALID]);
    assert.equal((await client.verify("a@example.com")).verdict, "valid");
    assert.equal(server.received.length, 5);
  });

  it("throws what the API says, at once where another try is of no use", async (t) => {
    const { server, client } = await served(t, [withProblem(402, "unavailable_in_tier")]);
    const error = await errorOf(client.verify("a@example.com"));
    const { code, status, detail, requestId, retryAfterS } = error;
    assert.deepEqual(
      { code, status, detail, requestId, retryAfterS },
      {
        ...{ code: "unavailable_in_tier", status: 402, detail: "It is unavailable_in_tier." },
        ...{ requestId: "req_1", retryAfterS: null },
      },
    );
    assert.equal(server.received.length, 1);
  });

  it("does not wait for what is over later than the call", async (t) => {
    const { server, client } = await served(t, [
      withProblem(429, "quota_exceeded", { "Retry-After": "40000" }),
    ]);
    const error = await errorOf(client.verify("a@example.com"));
    assert.equal(error.code, "quota_exceeded");
    assert.equal(error.retryAfterS, 40_000);
    assert.equal(server.received.length, 1);
  });

  it("ends after so many attempts, and with its time", async (t) => {
    const { server, client } = await served(t, [withReset], { maxAttempts: 2 });
    assert.equal((await errorOf(client.verify("a@example.com"))).code, "network_error");
    assert.equal(server.received.length, 2);
    const slow = await served(t, [inSilence], { timeoutMs: 300 });
    assert.equal((await errorOf(slow.client.verify("a@example.com"))).code, "timeout");
  });

  it("throws the reason of its signal, during an answer and during a wait", async (t) => {
    const { client } = await served(t, [inSilence]);
    const reason = new Error("enough");
    await assert.rejects(client.verify("a@example.com", { signal: AbortSignal.abort(reason) }), reason);
    const control = new AbortController();
    const waiting = await served(t, [
      (received, response) => {
        withProblem(429, "rate_limited", { "Retry-After": "30" })(received, response);
        response.on("close", () => setTimeout(() => control.abort(reason), 50));
      },
    ]);
    await assert.rejects(waiting.client.verify("a@example.com", { signal: control.signal }), reason);
    assert.equal(waiting.server.received.length, 1);
  });

  it("does not take its key elsewhere", async (t) => {
    const elsewhere = await startScripted([VALID]);
    t.after(() => elsewhere.close());
    const { server, client } = await served(t, [withText("", { Location: elsewhere.url }, 307)]);
    const { code, status } = await errorOf(client.verify("a@example.com"));
    assert.deepEqual([code, status], ["http_error", 307]);
    assert.deepEqual([server.received.length, elsewhere.received.length], [1, 0]);
    assert.throws(() => createClient({ url: "rcpt.example.com" }), TypeError);
  });

  it("needs no key where the API needs none", async (t) => {
    const { server, client } = await served(t, [withJson({ registration: "open" })], { key: undefined });
    await client.request("GET", "/v1/auth/options");
    assert.equal(server.received[0]?.headers.authorization, undefined);
  });

  it("that is answered with something else than JSON is malformed, and not repeated", async (t) => {
    const { server, client } = await served(t, [
      withText('{"verdict": ', { "Content-Type": "application/json" }),
    ]);
    assert.equal((await errorOf(client.verify("a@example.com"))).code, "malformed_answer");
    assert.equal(server.received.length, 1);
  });
});

describe("a request that changes something", { concurrency: true }, () => {
  const newKey = { body: { label: "x", env: "live" } } as const;

  it("is sent again by the same Idempotency-Key where it takes one", async (t) => {
    const inFlight = withProblem(409, "idempotency_in_flight", { "Retry-After": "1" });
    const { server, client } = await served(t, [withReset, inFlight, withJson({ id: "key_1" }, 201)]);
    assert.equal((await client.request("POST", "/v1/keys", newKey)).id, "key_1");
    const keys = server.received.map(({ headers }) => headers["idempotency-key"]);
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
    assert.equal(new Set(server.received.map(({ body }) => body)).size, 1);
  });

  it("is not sent again when its key is free although it may have been done", async (t) => {
    const { server, client } = await served(t, [withProblem(503, "unavailable", { "Retry-After": "1" })]);
    assert.equal((await errorOf(client.request("POST", "/v1/keys", newKey))).code, "unavailable");
    assert.equal(server.received.length, 1);
  });

  it("takes a key of the caller's", async (t) => {
    const { server, client } = await served(t, [withJson({ id: "job_1" }, 202)]);
    await client.bulk.submit(["a@example.com"], { idempotencyKey: "mine", metadata: { a: "b" } });
    const [{ headers, body } = assert.fail()] = server.received;
    assert.equal(headers["idempotency-key"], "mine");
    assert.deepEqual(JSON.parse(body), { emails: ["a@example.com"], metadata: { a: "b" } });
  });

  it("without such a key is sent again only when nothing was done", async (t) => {
    const path = { id: "whk_1" };
    for (const failure of [withReset, withText("", {}, 503), withProblem(503, "unavailable")]) {
      const { server, client } = await served(t, [failure]);
      await errorOf(client.request("POST", "/v1/webhooks/{id}/ping", { path }));
      assert.equal(server.received.length, 1);
      assert.equal(server.received[0]?.headers["idempotency-key"], undefined);
    }
    const refused = withProblem(503, "overloaded", { "Retry-After": "1" });
    const { server, client } = await served(t, [refused, withJson({ event_id: "evt_1" }, 202)]);
    await client.request("POST", "/v1/webhooks/{id}/ping", { path });
    assert.equal(server.received.length, 2);
  });

  it("that is a PATCH is not repeated", async (t) => {
    const { server, client } = await served(t, [withReset]);
    await errorOf(client.request("PATCH", "/v1/team", { body: { name: "x" } }));
    assert.equal(server.received.length, 1);
  });

  it("that is a DELETE is done when its first answer was lost and the second says 404", async (t) => {
    const { server, client } = await served(t, [withReset, withProblem(404, "not_found")]);
    await client.request("DELETE", "/v1/keys/{id}", { path: { id: "key/1" } });
    assert.equal(server.received[1]?.path, "/v1/keys/key%2F1");
    const absent = await served(t, [withProblem(404, "not_found")]);
    const error = await errorOf(absent.client.request("DELETE", "/v1/keys/{id}", { path: { id: "key_1" } }));
    assert.equal(error.code, "not_found");
  });

  it("that is a stream is sent once", async (t) => {
    const { server, client } = await served(t, [withProblem(503, "overloaded", { "Retry-After": "1" })]);
    const stream = new Blob(["a@example.com\n"]).stream();
    assert.equal((await errorOf(client.bulk.submitFile(stream))).code, "overloaded");
    assert.equal(server.received.length, 1);
  });
});

describe("limits", () => {
  it("are those of the last answer", async (t) => {
    const headers = {
      "RateLimit-Policy": '"rate";q=200;w=4, "quota";q=1000;w=86400',
      RateLimit: '"rate";r=0;t=1, "quota";r=7;t=4000',
    };
    const { server, client } = await served(t, [withJson({ verdict: "valid" }, 200, headers), VALID], {
      pace: true,
    });
    assert.deepEqual(client.limits, {});
    await client.verify("a@example.com");
    const { rate, quota } = client.limits;
    assert.deepEqual([rate?.limit, rate?.windowS, rate?.remaining, rate?.resetS], [200, 4, 0, 1]);
    assert.deepEqual([quota?.limit, quota?.remaining], [1_000, 7]);
    const begunMs = performance.now();
    await client.verify("b@example.com");
    assert.ok(performance.now() - begunMs >= 900, "it waits for the rate, as it was told to");
    assert.equal(server.received.length, 2);
  });
});

describe("pages", () => {
  it("are read one after the other, with the same query", async (t) => {
    const { server, client } = await served(t, [
      withJson({ data: [{ id: "key_1" }, { id: "key_2" }], next_cursor: "c+1" }),
      withJson({ data: [{ id: "key_3" }], next_cursor: null }),
    ]);
    const ids: string[] = [];
    for await (const { id } of client.paginate("/v1/keys", { query: { limit: 2 } })) ids.push(id);
    assert.deepEqual(ids, ["key_1", "key_2", "key_3"]);
    const asked = server.received.map(({ path }) => path);
    assert.deepEqual(asked, ["/v1/keys?limit=2", "/v1/keys?limit=2&cursor=c%2B1"]);
  });
});

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { tally } from "../../support/load.ts";
import { addMember } from "../../support/members.ts";
import { routes } from "../../support/route-table.ts";
import {
  createDeployment,
  type Response,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { PRICES } from "../../support/stripe-events.ts";
import { startStripeMock } from "../../support/stripe-mock.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** A request repeated with its Idempotency-Key, to any process: it is done once, and gets the same answer. */
let deployment: TestDeployment;
let apis: [TestApi, TestApi];
let team: Team;
const closing = createClosing();

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const stripe = await startStripeMock();
  closing.after(() => stripe.close());
  const settings = { ...stripe.settings, ...PRICES };
  apis = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
});
after(closing.close);
beforeEach(async () => {
  team = await deployment.team("enterprise");
});

function post(
  path: string,
  idempotencyKey: string,
  body: unknown,
  options: { at?: TestApi; key?: string } = {},
) {
  const { at = apis[0], key = team.session } = options;
  return at.send("POST", path, { key, body, headers: { "Idempotency-Key": idempotencyKey } });
}

const block = (idempotencyKey: string, domain: string, at?: TestApi) =>
  post("/v1/blocklist", idempotencyKey, { domain }, at === undefined ? {} : { at });
const replayed = ({ headers }: Response) => headers.get("idempotent-replayed");
const codeOf = ({ status, body }: Response) => ({ status, code: (body?.code as string | undefined) ?? null });

async function blocked(): Promise<string[]> {
  const page = await apis[0].send<{ data: { domain: string }[] }>("GET", "/v1/blocklist", {
    key: team.session,
  });
  return page.body.data.map(({ domain }) => domain);
}

describe("a request with an Idempotency-Key, sent again", () => {
  it("gets the first answer, in every process, though it could not be done twice", async () => {
    const first = await block("k1", "one.example");
    assert.equal(first.status, 201);
    assert.equal(replayed(first), null);
    for (const at of apis) {
      const again = await block("k1", "one.example", at);
      assert.deepEqual([again.status, again.body], [first.status, first.body]);
      assert.equal(replayed(again), "true");
      assert.notEqual(again.headers.get("x-request-id"), first.headers.get("x-request-id"));
    }
    assert.equal((await block("k2", "one.example")).status, 409);
  });

  it("gets a refusal again that was final", async () => {
    await block("k1", "one.example");
    const first = await block("k2", "one.example");
    assert.deepEqual(codeOf(first), { status: 409, code: "already_blocked" });
    await apis[0].send("DELETE", "/v1/blocklist/one.example", { key: team.session });
    const again = await block("k2", "one.example");
    assert.deepEqual([again.status, again.body], [409, first.body]);
    assert.equal(replayed(again), "true");
    assert.equal(again.headers.get("content-type"), "application/problem+json");
  });

  it("is done after a refusal that was not", async () => {
    const refused = await block("k1", "not a domain");
    assert.equal(refused.status, 400);
    const done = await block("k1", "one.example");
    assert.equal(done.status, 201);
    assert.equal(replayed(done), null);
  });

  it("is done once the cause of its refusal is gone", async () => {
    const free = await deployment.team("free");
    const register = () =>
      post("/v1/webhooks", "k1", { url: "http://127.0.0.1:18099/hook" }, { key: free.session });
    assert.deepEqual(codeOf(await register()), { status: 402, code: "unavailable_in_tier" });
    await deployment.sql`update teams set tier = 'enterprise' where id = ${free.id}`;
    const done = await until("the new tier", async () => {
      const answer = await register();
      return answer.status !== 402 && answer;
    });
    assert.deepEqual([done.status, replayed(done)], [201, null]);
    assert.equal(replayed(await register()), "true");
  });

  it("is refused with another body, or to another path", async () => {
    await block("k1", "one.example");
    const others = [
      await block("k1", "two.example"),
      await post("/v1/keys", "k1", { domain: "one.example" }),
      await post("/v1/blocklist", "k1", '{"domain": "one.example"}'),
    ];
    for (const other of others)
      assert.deepEqual(codeOf(other), { status: 422, code: "idempotency_mismatch" });
    assert.deepEqual(await blocked(), ["one.example"]);
  });

  it("checks the role before the key", async () => {
    await block("k1", "one.example");
    const member = await addMember(deployment.sql, team.id, "member");
    const path = "/v1/blocklist";
    const body = { domain: "one.example" };
    assert.equal((await post(path, "k1", body, { key: member.session })).status, 403);
    assert.equal((await post(path, "k1", body, { key: "rcpt_live_nobody" })).status, 401);
  });

  it("of a team is nothing to another", async () => {
    await block("k1", "one.example");
    const other = await deployment.team("enterprise");
    const theirs = await post("/v1/blocklist", "k1", { domain: "two.example" }, { key: other.session });
    assert.equal(theirs.status, 201);
    assert.equal(replayed(theirs), null);
  });
});

describe("every POST that takes an Idempotency-Key", () => {
  const keyed = routes.filter(({ idempotent }) => idempotent === true);
  for (const { path, secretField, success, bodyExample } of keyed)
    it(`is done once, and answered again by another process, but for its secret: ${path}`, async () => {
      const subscriber = await deployment.team("pro");
      const send = (at: TestApi) => post(path, "once", bodyExample, { at, key: subscriber.session });
      const [first, again] = [await send(apis[0]), await send(apis[1])];
      assert.equal(first.status, success.status, JSON.stringify(first.body));
      assert.deepEqual([replayed(first), replayed(again)], [null, "true"]);
      const shown = secretField === undefined ? first.body : { ...first.body, [secretField]: null };
      assert.deepEqual([again.status, again.body], [first.status, shown]);
      assert.equal(again.headers.get("location"), first.headers.get("location"));
      const kept = await deployment.sql<{ text: string }[]>`
        select k::text as text from idempotency_keys k where team_id = ${subscriber.id}`;
      assert.equal(kept.length, 1);
      if (secretField === undefined) return;
      const secret = first.body[secretField];
      assert.ok(typeof secret === "string" && secret.length > 20);
      assert.ok(!kept[0]?.text.includes(secret));
    });

  it("is one of the table, and two of them answer with a secret", () => {
    assert.ok(keyed.length >= 6);
    const secretive = keyed.filter(({ secretField }) => secretField !== undefined);
    assert.deepEqual(secretive.map(({ path }) => path).sort(), ["/v1/keys", "/v1/webhooks"]);
  });
});

describe("50 at once with one key, over two processes", () => {
  it("have one effect; all others get its answer or are refused as in flight", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        post("/v1/keys", "race", { label: "one of fifty", env: "test" }, { at: apis[i % 2] as TestApi }),
      ),
    );
    const firsts = answers.filter((answer) => answer.status === 201 && replayed(answer) === null);
    assert.equal(firsts.length, 1, JSON.stringify(tally(answers.map(codeOf))));
    const { body: first } = firsts[0] as Response;
    for (const answer of answers) {
      if (answer === firsts[0]) continue;
      if (answer.status === 201) assert.deepEqual(answer.body, { ...first, secret: null });
      else {
        assert.deepEqual(codeOf(answer), { status: 409, code: "idempotency_in_flight" });
        assert.equal(answer.headers.get("retry-after"), "1");
      }
    }
    const keys = await deployment.sql`
      select from api_keys where team_id = ${team.id} and label = 'one of fifty'`;
    assert.equal(keys.length, 1);
  });

  it("and two bodies do one of them", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        block("race", i % 2 ? "odd.example" : "even.example", apis[i % 2]),
      ),
    );
    assert.equal(answers.filter((answer) => answer.status === 201 && replayed(answer) === null).length, 1);
    for (const { status } of answers) assert.ok([201, 409, 422].includes(status), String(status));
    assert.equal((await blocked()).length, 1);
  });
});

describe("an Idempotency-Key", () => {
  it("must be one", async () => {
    for (const key of ["", "k".repeat(256), "a\tb", "clé!"]) {
      const answer = await block(key, "one.example");
      assert.deepEqual(codeOf(answer), { status: 400, code: "bad_request" }, JSON.stringify(key));
    }
    assert.deepEqual(await blocked(), []);
  });

  it("means nothing where it is not offered", async () => {
    const rename = (name: string) =>
      apis[0].send("PATCH", "/v1/team", {
        key: team.session,
        body: { name },
        headers: { "Idempotency-Key": "k1" },
      });
    assert.equal((await rename("one")).status, 200);
    assert.equal((await rename("two")).status, 200);
  });

  it("that cannot be claimed lets nothing be done", async () => {
    const gate = await createTcpGate(deployment.settings.DATABASE_URL);
    const cut = await deployment.startApi({
      DATABASE_URL: throughGate(deployment.settings.DATABASE_URL, gate),
    });
    try {
      // So that the credential is known without Postgres.
      assert.equal((await block("k0", "zero.example", cut)).status, 201);
      gate.shut();
      const refused = await block("k1", "one.example", cut);
      assert.deepEqual(codeOf(refused), { status: 503, code: "unavailable" });
      assert.ok(Number(refused.headers.get("retry-after")) >= 1);
      gate.open();
      assert.deepEqual(await blocked(), ["zero.example"]);
    } finally {
      gate.open();
      await cut.stop();
      await gate.close();
    }
  });
});

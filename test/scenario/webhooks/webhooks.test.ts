import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { EVENT_TYPES } from "../../../src/config/events.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Webhook } from "../../../src/features/webhooks/webhooks.ts";
import { waitForPostgres } from "../../support/limits.ts";
import { tally } from "../../support/load.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/**
 * A team's webhooks: creating, listing, changing and deleting them; required roles, number, and what is never shown.
 * Deliveries: webhook-deliveries.
 */
const closing = createClosing();
let deployment: TestDeployment;
let one: TestApi;
let two: TestApi;

before(async () => {
  waitForPostgres(closing);
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [one, two] = await Promise.all([deployment.startApi(), deployment.startApi()]);
});
after(closing.close);

type Created = Webhook & { secret: string | null };
type Problem = { code: string; detail: string; errors?: { path: string; message: string }[] };
const URL_OF = "https://hooks.example.com/rcpt";

async function create(key: string, body: object = { url: URL_OF }, headers: Record<string, string> = {}) {
  const answer = await one.send<Created>("POST", "/v1/webhooks", { key, body, headers });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function refusal(method: string, path: string, key: string, body?: unknown, api = one) {
  const answer = await api.send<Problem>(method, path, { key, ...(body === undefined ? {} : { body }) });
  return `${answer.status} ${answer.body?.code}`;
}

describe("a webhook", () => {
  it("shows its secret once, is listed without it, changed and deleted", async () => {
    const { session } = await deployment.team("starter");
    const { secret, ...shown } = await create(session, {
      url: "https://Hooks.example.com:443",
      description: "ünï",
    });
    assert.match(secret ?? "", /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(shown, {
      id: shown.id,
      livemode: true,
      url: "https://hooks.example.com/",
      events: [...EVENT_TYPES],
      description: "ünï",
      status: "enabled",
      disabled_reason: null,
      disabled_at: null,
      created_at: shown.created_at,
      last_success_at: null,
      failing_since: null,
    });
    const listed = await one.send("GET", "/v1/webhooks", { key: session });
    assert.deepEqual([listed.status, listed.body], [200, { data: [shown], next_cursor: null }]);

    const path = `/v1/webhooks/${shown.id}`;
    const change = { url: "https://b.example.com/", events: ["ping", "bulk.failed"], description: "" };
    const changed = await one.send<Webhook>("PATCH", path, { key: session, body: change });
    assert.deepEqual(changed.body, { ...shown, ...change, events: ["bulk.failed", "ping"] });
    const off = await one.send<Webhook>("PATCH", path, { key: session, body: { status: "disabled" } });
    assert.deepEqual([off.body.status, off.body.disabled_reason], ["disabled", "by_user"]);
    assert.match(off.body.disabled_at ?? "", /^20\d\d-.*Z$/);
    const on = await one.send<Webhook>("PATCH", path, { key: session, body: { status: "enabled" } });
    assert.deepEqual(on.body, changed.body);
    const all = await one.send<Webhook>("PATCH", path, { key: session, body: { events: null } });
    assert.deepEqual(all.body.events, [...EVENT_TYPES]);
    const [row] = await deployment.sql`select events from webhooks where id = ${shown.id}`;
    assert.equal(row?.events, null);

    const gone = await one.send("DELETE", path, { key: session });
    assert.deepEqual([gone.status, gone.body], [204, null]);
    assert.equal(await refusal("DELETE", path, session), "404 not_found");
    assert.deepEqual((await one.send("GET", "/v1/webhooks", { key: session })).body.data, []);
  });

  it("keeps its secret encrypted: nothing in the database has it, nor what is left of its replay", async () => {
    const { session } = await deployment.team("starter");
    const secrets: string[] = [];
    const made = await create(session, { url: URL_OF }, { "Idempotency-Key": "webhook-2" });
    secrets.push(made.secret ?? "");
    const path = `/v1/webhooks/${made.id}/rotate-secret`;
    for (const [method, asked] of [
      ["POST", path],
      ["POST", "/v1/team/webhook-secret"],
    ] as const) {
      const { body } = await one.send<{ secret: string }>(method, asked, { key: session });
      secrets.push(body.secret);
    }
    assert.equal(new Set(secrets).size, 3);
    const tables = await deployment.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public'`;
    assert.ok(tables.length > 10);
    for (const { name } of tables) {
      const rows = await deployment.sql`select t::text as row from ${deployment.sql(name)} t`;
      for (const secret of secrets) {
        const key = secret.slice("whsec_".length);
        const inHex = [secret, key].map((text) => Buffer.from(text).toString("hex"));
        const forms = [key, ...inHex, Buffer.from(key, "base64").toString("hex")];
        for (const { row } of rows)
          assert.ok(!forms.some((form) => String(row).includes(form)), `a secret in ${name}`);
      }
    }
  });

  it("is listed in pages, newest first", async () => {
    const { session } = await deployment.team("starter");
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift((await create(session)).id);
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page: { body: { data: Webhook[]; next_cursor: string | null } } = await one.send(
        "GET",
        `/v1/webhooks?limit=2${query}`,
        { key: session },
      );
      seen.push(...page.body.data.map(({ id }) => id));
      cursor = page.body.next_cursor;
    }
    assert.deepEqual(seen, made);
  });
});

describe("who may keep webhooks", () => {
  it("is no free team, and no team where no secret can be stored", async () => {
    const free = await deployment.team("free");
    const body = { url: URL_OF };
    assert.equal(await refusal("POST", "/v1/webhooks", free.session, body), "402 unavailable_in_tier");
    assert.equal(await refusal("POST", "/v1/team/webhook-secret", free.session), "402 unavailable_in_tier");
    assert.equal((await one.send("GET", "/v1/webhooks", { key: free.session })).status, 200);
    const granted = await deployment.team("free", { webhooks: true });
    await create(granted.session);

    const bare = await deployment.startApi({ SECRETS_KEY: "" });
    const { session } = await deployment.team("starter");
    assert.equal(await refusal("POST", "/v1/webhooks", session, body, bare), "503 feature_unconfigured");
    assert.equal(
      await refusal("POST", "/v1/team/webhook-secret", session, undefined, bare),
      "503 feature_unconfigured",
    );
    assert.equal((await bare.send("GET", "/v1/webhooks", { key: session })).status, 200);
    await bare.stop();
  });

  it("has no more than a team may, however many ask at once of two processes", async () => {
    const { session } = await deployment.team("starter");
    const { perTeam } = LIMITS.webhooks;
    const answers = await Promise.all(
      Array.from({ length: perTeam * 2 }, (_, i) =>
        (i % 2 === 0 ? one : two).send<Problem>("POST", "/v1/webhooks", {
          key: session,
          body: { url: URL_OF },
        }),
      ),
    );
    const outcomes = tally(answers.map(({ status, body }) => ({ status, code: body.code ?? null })));
    assert.deepEqual(outcomes, { "201": perTeam, "409 limit_reached": perTeam });
  });
});

describe("what a webhook is made from", () => {
  it("is a public https URL and events that there are; the error says which field it was", async () => {
    const strict = await deployment.startApi({ WEBHOOK_PRIVATE_ADDRESSES: "false" });
    const { session: key } = await deployment.team("starter");
    for (const url of [
      "http://hooks.example.com/",
      "https://127.0.0.1/",
      "https://0x7f.1/",
      "https://2130706433/",
      "https://[::ffff:127.0.0.1]/",
      "https://localhost./",
      "https://169.254.169.254/latest/meta-data",
      "https://u:p@example.com/",
      "https://example.com/#x",
      "ftp://example.com/",
      "",
    ]) {
      const { status, body } = await strict.send<Problem>("POST", "/v1/webhooks", { key, body: { url } });
      assert.deepEqual([status, body.code, body.errors?.[0]?.path], [400, "validation_failed", "url"], url);
    }
    const body = { url: URL_OF, events: ["ping", "bulk.complete"] };
    const unknown = await strict.send<Problem>("POST", "/v1/webhooks", { key, body });
    assert.equal(unknown.status, 400);
    assert.equal(unknown.body.errors?.[0]?.path, "events.1");
    assert.match(unknown.body.errors?.[0]?.message ?? "", /^"bulk\.complete" is not an event/);
    for (const wrong of [
      { events: [] },
      { events: ["ping", "ping"] },
      { event: ["ping"] },
      { description: "a\nb" },
    ])
      assert.equal(
        await refusal("POST", "/v1/webhooks", key, { url: URL_OF, ...wrong }, strict),
        "400 validation_failed",
      );
    const { id } = await create(key);
    for (const path of [`/v1/webhooks/${id}`]) {
      assert.equal(
        await refusal("PATCH", path, key, { url: "https://10.0.0.1/" }, strict),
        "400 validation_failed",
      );
      assert.equal(await refusal("PATCH", path, key, { status: "gone" }, strict), "400 validation_failed");
    }
    await strict.stop();
  });
});

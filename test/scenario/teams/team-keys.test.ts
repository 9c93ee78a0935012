import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { hashSecret } from "../../../src/features/identity/api-key.ts";
import type { ApiKey, CreatedKey } from "../../../src/features/teams/keys.ts";
import { waitForPostgres } from "../../support/limits.ts";
import { answersBesideLimit, startLoad, tally } from "../../support/load.ts";
import { addKey, addKeyWithoutUser, addMember } from "../../support/members.ts";
import fc from "../../support/properties.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { afterASecond, until } from "../../support/until.ts";

/**
 * A team's keys: making, listing, using and revoking them; required roles, number, and how soon a revoked one stops.
 */
const closing = createClosing();
let deployment: TestDeployment;
let one: TestApi;
let two: TestApi;

before(async () => {
  waitForPostgres(closing);
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [one, two] = await Promise.all([
    deployment.startApi({ TRUSTED_PROXIES: "127.0.0.1" }),
    deployment.startApi({ TRUSTED_PROXIES: "127.0.0.1" }),
  ]);
});
after(closing.close);

type Problem = { code: string; detail: string };
const LIVE = { label: "shop", env: "live" } as const;

async function create(key: string, body: unknown = LIVE, api = one): Promise<CreatedKey> {
  const answer = await api.send<CreatedKey>("POST", "/v1/keys", { key, body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function list(key: string, query = ""): Promise<{ data: ApiKey[]; next_cursor: string | null }> {
  const { status, body } = await one.send("GET", `/v1/keys${query}`, { key });
  assert.equal(status, 200);
  return body as { data: ApiKey[]; next_cursor: string | null };
}

async function refusal(method: string, path: string, key: string | undefined, body?: unknown) {
  const answer = await one.send<Problem>(method, path, {
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body }),
  });
  return `${answer.status} ${answer.body?.code}`;
}

const verifies = async (secret: string, api = one) =>
  (await api.verify(secret, "exists@plain.test")).status === 200;

describe("a key", () => {
  it("is shown once, listed without its secret, and stops when it is revoked", async () => {
    const { session, ownerId } = await deployment.team("enterprise");
    const made = await create(session, { label: "Laden ☂ 店", env: "live" });
    const { secret, ...shown } = made;
    assert.match(secret ?? "", /^rcpt_live_[0-9A-Za-z]{33}$/);
    assert.deepEqual(shown, {
      id: made.id,
      label: "Laden ☂ 店",
      env: "live",
      role: "owner",
      prefix: secret?.slice(0, 14),
      last4: secret?.slice(-4),
      created_at: made.created_at,
      created_by: ownerId,
      last_used_at: null,
    });
    assert.ok(await verifies(secret ?? ""));
    assert.ok(await verifies(secret ?? "", two));
    const { data } = await list(session);
    assert.deepEqual(data[0], { ...shown, last_used_at: data[0]?.last_used_at });
    assert.deepEqual(data.map((key) => key.label).sort(), ["Laden ☂ 店", "bootstrap live", "bootstrap test"]);
    assert.doesNotMatch(JSON.stringify(data), /rcpt_(live|test)_[0-9A-Za-z]{5}/);

    const gone = await one.send("DELETE", `/v1/keys/${made.id}`, { key: session });
    assert.deepEqual([gone.status, gone.body], [204, null]);
    assert.equal(await verifies(secret ?? ""), false);
    assert.equal((await list(session)).data.length, 2);
    assert.equal(await refusal("DELETE", `/v1/keys/${made.id}`, session), "404 not_found");
    await afterASecond();
    assert.equal(await verifies(secret ?? "", two), false);
  });

  it("is stored as its hash only", async () => {
    const { session } = await deployment.team("free");
    const { id, secret } = await create(session);
    const [row] = await deployment.sql<[{ hash: Buffer; text: string }]>`
      select hash, to_jsonb(k)::text as text from api_keys k where id = ${id}`;
    assert.equal(row.hash.toString("hex"), hashSecret(secret ?? ""));
    assert.equal(row.text.includes(secret ?? ""), false);
  });

  it("of a test environment is one, and may be made by another key", async () => {
    const { liveKey } = await deployment.team("free");
    const { secret, env } = await create(liveKey, { label: "ci", env: "test" });
    const { body } = await one.verify(secret ?? "", "valid@example.com");
    assert.deepEqual([env, body.livemode], ["test", false]);
  });

  it("is listed a page at a time, newest first", async () => {
    const { session } = await deployment.team("free");
    const first = await list(session, "?limit=1");
    const second = await list(session, `?limit=1&cursor=${first.next_cursor}`);
    const ids = [...first.data, ...second.data].map((key) => key.id);
    assert.deepEqual([new Set(ids).size, first.data.length, second.next_cursor], [2, 1, null]);
    assert.deepEqual(ids, [...ids].sort().reverse());
  });
});

describe("the role of a key", () => {
  it("is at most that of its maker, and equal to it by default", async () => {
    const team = await deployment.team("free");
    const admin = await addMember(deployment.sql, team.id, "admin");
    assert.equal((await create(admin.session)).role, "admin");
    assert.equal((await create(admin.session, { ...LIVE, role: "member" })).role, "member");
    const above = { ...LIVE, role: "owner" };
    assert.equal(await refusal("POST", "/v1/keys", admin.session, above), "403 insufficient_role");
    // An owner's key with the role admin is no owner.
    const lesser = await addKey(deployment.sql, { teamId: team.id, userId: team.ownerId }, "admin");
    assert.equal((await create(lesser.secret)).role, "admin");
    assert.equal(await refusal("POST", "/v1/keys", lesser.secret, above), "403 insufficient_role");
  });

  it("falls with its user's at once, and does not rise with it", async () => {
    const team = await deployment.team("free");
    const admin = await addMember(deployment.sql, team.id, "admin");
    const made = await create(admin.session);
    const roleOf = async () => (await list(team.session)).data.find((key) => key.id === made.id)?.role;
    const change = (role: string) =>
      one.send("PATCH", `/v1/team/members/${admin.id}`, { key: team.session, body: { role } });
    await change("member");
    assert.equal(await roleOf(), "member");
    assert.equal(await refusal("POST", "/v1/keys", made.secret ?? "", LIVE), "403 insufficient_role");
    await change("owner");
    assert.equal(await roleOf(), "admin");
    assert.equal(await refusal("DELETE", "/v1/team", made.secret ?? ""), "403 insufficient_role");
  });
});

describe("a key whose user has left", () => {
  it("verifies and reads, and nothing else", async () => {
    const team = await deployment.team("enterprise");
    const { id, secret } = await addKeyWithoutUser(deployment.sql, {
      teamId: team.id,
      userId: team.ownerId,
    });
    assert.ok(await verifies(secret));
    const { data } = await list(secret);
    const own = data.find((key) => key.id === id);
    assert.deepEqual([own?.created_by, own?.role], [null, "member"]);
    assert.equal((await one.send("GET", "/v1/team", { key: secret })).status, 200);
    assert.equal(await refusal("POST", "/v1/keys", secret, LIVE), "401 key_without_user");
    assert.equal(await refusal("POST", "/v1/keys", secret, "not json"), "401 key_without_user");
    for (const [method, path, body] of [
      ["DELETE", `/v1/keys/${id}`, undefined],
      ["PATCH", "/v1/team", { name: "mine" }],
      ["DELETE", "/v1/team", undefined],
      ["POST", "/v1/team/transfer", { user_id: team.ownerId }],
      ["PATCH", `/v1/team/members/${team.ownerId}`, { role: "member" }],
    ] as const)
      assert.equal(await refusal(method, path, secret, body), "403 insufficient_role", `${method} ${path}`);
    assert.equal(await refusal("DELETE", `/v1/team/members/${team.ownerId}`, secret), "401 unauthorized");
  });
});

/** Fills the team up to `count` keys. */
async function fill(team: Team, count: number): Promise<void> {
  await deployment.sql`
    insert into api_keys (id, team_id, user_id, label, env, role, hash, prefix, last4)
    select 'key_' || left(md5(${team.id} || n), 26), ${team.id}, ${team.ownerId}, 'filled', 'live', 'member',
           sha256((${team.id} || n)::bytea), 'rcpt_live_0000', '0000'
    from generate_series(1, ${count} - (select count(*) from api_keys where team_id = ${team.id})) n`;
}

describe("how many keys", () => {
  it("is exact, however many are asked for at once of two processes; a revoked one makes room", async () => {
    const team = await deployment.team("free");
    await fill(team, LIMITS.team.keys - 3);
    const asked = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? one : two).send<CreatedKey & Problem>("POST", "/v1/keys", {
        key: team.session,
        body: LIVE,
      }),
    );
    const answers = await Promise.all(asked);
    const outcomes = tally(answers.map(({ status, body }) => ({ status, code: body.code ?? null })));
    assert.deepEqual(outcomes, { "201": 3, "409 limit_reached": 17 });
    const made = answers.find(({ status }) => status === 201);
    await one.send("DELETE", `/v1/keys/${made?.body.id}`, { key: team.session });
    await create(team.session);
    assert.equal(await refusal("POST", "/v1/keys", team.session, LIVE), "409 limit_reached");
  });

  it("that were revoked are kept has a bound too", async () => {
    const team = await deployment.team("free");
    await fill(team, 2 + LIMITS.team.revokedKeysKept + 20);
    await deployment.sql`update api_keys set revoked_at = now() where team_id = ${team.id} and label = 'filled'`;
    const { id } = await create(team.session);
    assert.equal((await one.send("DELETE", `/v1/keys/${id}`, { key: team.session })).status, 204);
    const rows = await deployment.sql<{ id: string }[]>`
      select id from api_keys where team_id = ${team.id} and revoked_at is not null`;
    assert.equal(rows.length, LIMITS.team.revokedKeysKept);
    assert.ok(rows.some((row) => row.id === id));
  });
});

describe("a key revoked under load", () => {
  it("stops at once where it was revoked, and within a second in the other process", async () => {
    const { session } = await deployment.team("enterprise");
    const { id, secret } = await create(session);
    const asked = { key: secret ?? "", headers: { "X-Forwarded-For": "192.0.2.1" } };
    const path = "/v1/verify?email=exists%40plain.test";
    const loads = [one, two].map((api) => startLoad(4, () => api.send("GET", path, asked)));
    try {
      await until("both serve", () => loads.every(({ samples }) => samples.length >= 20));
      assert.equal((await one.send("DELETE", `/v1/keys/${id}`, { key: session })).status, 204);
      const revokedMs = performance.now();
      const since = (ms: number) => loads.map(({ samples }) => samples.filter(({ beganMs }) => beganMs > ms));
      const lateMs = revokedMs + LIMITS.keys.confirmMs;
      await until("requests began late enough", () => since(lateMs).every((late) => late.length >= 20));
      assert.deepEqual(answersBesideLimit(since(revokedMs)[0] ?? []), ["401 unauthorized"]);
      for (const late of since(lateMs))
        assert.ok(answersBesideLimit(late).every((how) => how === "401 unauthorized"));
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
    }
  });
});

describe("a label", () => {
  it("has neither control characters nor half characters, and is not empty", async () => {
    const { session } = await deployment.team("free");
    for (const label of ["", "  ", "a\0b", "a\nb", "a\u0085b", "a\u2028b", "\ud800", "x".repeat(201)])
      assert.equal(
        await refusal("POST", "/v1/keys", session, { ...LIVE, label }),
        "400 validation_failed",
        JSON.stringify(label),
      );
  });

  it("comes back unchanged", async () => {
    const { session } = await deployment.team("free", { writesBurst: 1_000 });
    for (const label of [
      "🔑".repeat(100),
      "e\u0301 is not \u00e9",
      "ﬁ İ ß 漢",
      "\u202eright to left",
      "two  spaces",
      "<b>&amp;</b>",
      "%00 %41",
      "{{7*7}}",
      "'; drop table api_keys; --",
      "..",
      "__proto__",
    ])
      assert.equal((await create(session, { ...LIVE, label })).label, label);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (label) => {
        const made = await one.send<CreatedKey>("POST", "/v1/keys", {
          key: session,
          body: { ...LIVE, label },
        });
        assert.ok(
          made.status === 400 || made.body.label === label,
          `${made.status} ${JSON.stringify(label)}`,
        );
        if (made.status === 201) await one.send("DELETE", `/v1/keys/${made.body.id}`, { key: session });
      }),
      { numRuns: 50 },
    );
  });
});

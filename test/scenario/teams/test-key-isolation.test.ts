import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import type { Accuracy } from "../../../src/features/feedback/accuracy.ts";
import { type IdPrefix, newId } from "../../../src/platform/ids.ts";
import { submitAs } from "../../support/bulk-files.ts";
import { fillPath, operationOf, routes } from "../../support/route-table.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import {
  type CreatedResource,
  type CreateObject,
  createTeamObjects,
  operationsOnObjects,
  type PathParams,
} from "../../support/team-objects.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";

/**
 * A test key sees and changes what test keys made, and nothing live: a live job, upload or webhook is answered exactly
 * like an id that does not exist. Every operation is in one of the tables here, so that a new one must be added.
 */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let receiver: WebhookReceiver;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  receiver = await startReceiver();
  closing.after(() => receiver.close());
  api = await deployment.startApi();
  await deployment.startRelay();
  team = await deployment.team("enterprise");
});
after(closing.close);

const objects = createTeamObjects(() => api);
const { make } = objects;
const OF_ONE = operationsOnObjects(objects);

const LISTS: Record<string, CreateObject> = {
  "GET /v1/bulk-jobs": objects.job,
  "GET /v1/uploads": objects.upload,
  "GET /v1/webhooks": objects.webhook,
  "GET /v1/events": objects.event,
};

const MAKES: Record<string, () => Promise<CreatedResource>> = {
  "POST /v1/verify/bulk": () => make(team.testKey, "/v1/verify/bulk", { emails: ["valid@plain.test"] }),
  "POST /v1/uploads": () => make(team.testKey, "/v1/uploads", { filename: "list.csv" }),
  "PUT /v1/uploads/{upload}": async () => {
    const headers = { Authorization: `Bearer ${team.testKey}` };
    const sent = await fetch(`${api.url}/v1/uploads/list.csv`, { method: "PUT", body: "email\n", headers });
    assert.equal(sent.status, 201);
    return (await sent.json()) as CreatedResource;
  },
  "POST /v1/webhooks": () => make(team.testKey, "/v1/webhooks", { url: receiver.url }),
};

/** Operations that show a test key no live data except the team's settings, which it cannot change, and its usage. */
const OF_THE_TEAM = [
  "GET /v1/verify",
  "GET /v1/usage",
  "GET /v1/usage/history",
  // Reports sent with a test key are not stored, and the accuracy is empty for one.
  "GET /v1/feedback/accuracy",
  "POST /v1/feedback",
  "POST /v1/feedback/files",
  "GET /v1/auth/me",
  "GET /v1/keys",
  "GET /v1/team",
  "GET /v1/team/invites",
  "GET /v1/blocklist",
  "GET /v1/admin/disposable",
  "GET /v1/admin/disposable/pending",
  "GET /v1/billing",
  // For sessions alone: 403 `session_required` for any key.
  "POST /v1/auth/logout",
  "POST /v1/auth/password",
];

const ofTeams = routes.filter(({ access }) => access !== "public");
const nobodys = (params: PathParams): PathParams =>
  Object.fromEntries(Object.entries(params).map(([name, id]) => [name, newId(id.split("_")[0] as IdPrefix)]));

async function ask(key: string, operation: string, params: PathParams) {
  const [method = "", path = ""] = operation.split(" ");
  const body = OF_ONE[operation]?.body;
  const response = await fetch(api.url + fillPath(path, (name) => params[name] ?? ""), {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** A refusal without what differs between any two. */
const comparable = ({ status, text }: { status: number; text: string }) => ({
  status,
  text: text.replace(/"request_id":"[^"]*"/, ""),
});

const idsOf = async (key: string, path: string) => {
  const page = await api.send<{ data: CreatedResource[] }>("GET", `${path}?limit=100`, { key });
  assert.equal(page.status, 200);
  return page.body.data.map(({ id }) => id);
};

describe("what is live", () => {
  it("is guarded from test keys in every operation of a team, each in one table here", () => {
    const liveOnly = ofTeams.filter((route) => route.liveOnly === true).map(operationOf);
    const tables = [Object.keys(OF_ONE), Object.keys(LISTS), Object.keys(MAKES), OF_THE_TEAM, liveOnly];
    assert.deepEqual(tables.flat().sort(), ofTeams.map(operationOf).sort());
  });

  for (const [operation, { by }] of Object.entries(OF_ONE))
    it(`is to a test key as if it were not there for ${operation}`, async () => {
      const live = await by(team.liveKey);
      const refused = await ask(team.testKey, operation, live);
      assert.equal(refused.status, 404, refused.text);
      assert.deepEqual(comparable(refused), comparable(await ask(team.testKey, operation, nobodys(live))));
      // Objects of a test key are visible to it, and to the team's live credentials.
      const [own, theirs] = [await by(team.testKey), await by(team.testKey)];
      for (const [key, made] of [
        [team.testKey, own],
        [team.session, theirs],
        [team.liveKey, live],
      ] as const) {
        const { status, text } = await ask(key, operation, made);
        assert.ok(status < 300 || status === 409, `${status} ${text}`);
      }
    });

  it("is not found by one of two ids in a path that is of a test key", async () => {
    const { delivery_id = "" } = await objects.delivery(team.liveKey);
    const { id = "" } = await objects.webhook(team.testKey);
    const path = "/v1/webhooks/{id}/deliveries/{delivery_id}";
    for (const operation of [`GET ${path}`, `POST ${path}/redeliver`])
      assert.equal((await ask(team.testKey, operation, { id, delivery_id })).status, 404, operation);
  });

  for (const [operation, by] of Object.entries(LISTS))
    it(`is not in a test key's ${operation}, whatever the cursor`, async () => {
      const path = operation.slice("GET ".length);
      const first = Object.values(await by(team.testKey))[0] ?? "";
      const live = Object.values(await by(team.liveKey))[0] ?? "";
      const listed = await idsOf(team.testKey, path);
      assert.deepEqual([listed.includes(first), listed.includes(live)], [true, false]);
      const all = await idsOf(team.liveKey, path);
      assert.deepEqual([all.indexOf(live) >= 0, all.indexOf(live) < all.indexOf(first)], [true, true]);
      // A cursor that a live key was given.
      const page = await api.send<{ next_cursor: string }>("GET", `${path}?limit=1`, { key: team.liveKey });
      const rest = await api.send<{ data: CreatedResource[] }>(
        "GET",
        `${path}?cursor=${page.body.next_cursor}`,
        {
          key: team.testKey,
        },
      );
      assert.ok(rest.body.data.length > 0 && rest.body.data.every(({ livemode }) => !livemode));
    });

  for (const [operation, made] of Object.entries(MAKES))
    it(`is not what a test key makes by ${operation}`, async () => {
      const { id, livemode } = await made();
      assert.deepEqual([typeof id, livemode], ["string", false]);
    });

  it("is no source of a test key's job: neither an upload nor a bucket", async () => {
    const { upload = "" } = await objects.upload(team.liveKey);
    const answers = [
      await submitAs(api, team.testKey, { upload_id: upload }),
      await submitAs(api, team.testKey, { upload_id: newId("upl") }),
      await submitAs(api, team.testKey, { s3: { bucket: "lists", key: "in/list.csv" } }),
      await submitAs(api, team.liveKey, { s3: { bucket: "lists", key: "in/list.csv" } }),
    ];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [404, "not_found"],
        [404, "not_found"],
        [403, "live_credential_needed"],
        [403, "s3_not_granted"],
      ],
    );
  });

  it("is not answered again for a test key's Idempotency-Key, nor the other way round", async () => {
    for (const [path, body] of [
      ["/v1/verify/bulk", { emails: ["valid@plain.test"] }],
      ["/v1/uploads", { filename: "list.csv" }],
      ["/v1/webhooks", { url: receiver.url }],
    ] as const) {
      const headers = { "Idempotency-Key": `both-modes-${path}` };
      const send = async (key: string) =>
        (await api.send<CreatedResource>("POST", path, { key, body, headers })).body;
      const [live, test] = [await send(team.liveKey), await send(team.testKey)];
      const again = [await send(team.testKey), await send(team.liveKey)];
      assert.deepEqual([live.livemode, test.livemode], [true, false], path);
      assert.deepEqual(
        again.map(({ id }) => id),
        [test.id, live.id],
      );
    }
  });

  it("keeps its room, however much test keys take", async () => {
    const other = await deployment.team("enterprise");
    await deployment.sql`
      insert into uploads (id, team_id, livemode, filename, object_key, status, bytes, expires_at)
      select 'upl_room' || n, ${other.id}, false, 'list.csv', 'k', 'open', 1, now() + interval '1 hour'
      from generate_series(1, ${LIMITS.uploads.open}) n`;
    await deployment.sql`
      insert into webhooks (id, team_id, livemode, url, description, secret)
      select 'wh_room' || n, ${other.id}, false, 'https://example.com/', '', ''
      from generate_series(1, ${LIMITS.webhooks.perTeam}) n`;
    for (const [path, body] of [
      ["/v1/uploads", { filename: "list.csv" }],
      ["/v1/webhooks", { url: receiver.url }],
    ] as const) {
      const refused = await api.send("POST", path, { key: other.testKey, body });
      assert.deepEqual([refused.status, refused.body.code], [409, "limit_reached"], path);
      await make(other.liveKey, path, body);
    }
  });

  it("has its hour of new webhooks, pings and redeliveries, whatever test keys did in it", async () => {
    const other = await deployment.team("enterprise");
    const hook = { url: receiver.url };
    const [live, test] = [
      await make(other.liveKey, "/v1/webhooks", hook),
      await make(other.testKey, "/v1/webhooks", hook),
    ];
    const { createdPerHour, manualPerTeamHour } = LIMITS.webhooks;
    await deployment.sql`
      update webhook_test_uses set count = ${createdPerHour} where team_id = ${other.id}`;
    await deployment.sql`
      insert into webhook_test_uses (team_id, use, count) values (${other.id}, 'manual', ${manualPerTeamHour})`;
    for (const [path, body, status] of [
      ["/v1/webhooks", hook, 201],
      [`/v1/webhooks/${live.id}/ping`, undefined, 202],
    ] as const)
      assert.equal((await api.send("POST", path, { key: other.liveKey, body })).status, status);
    for (const [path, body] of [
      ["/v1/webhooks", hook],
      [`/v1/webhooks/${test.id}/ping`, undefined],
    ] as const)
      assert.equal((await api.send("POST", path, { key: other.testKey, body })).status, 429);
  });

  it("is no part of the accuracy that a test key is shown", async () => {
    const events = [{ address: "jane@customer.example", outcome: "delivered" }];
    await api.send("POST", "/v1/feedback", { key: team.liveKey, body: { events } });
    const groupsOf = async (key: string) =>
      (await api.send<Accuracy>("GET", "/v1/feedback/accuracy", { key })).body.groups.length;
    assert.deepEqual([await groupsOf(team.liveKey), await groupsOf(team.testKey)], [1, 0]);
  });
});

describe("the events of a job", () => {
  it("go to the webhooks of its mode alone, and to the URL that it names", async () => {
    const told = await deployment.team("enterprise");
    const secrets = await api.send<{ secret: string; test_secret: string }>(
      "POST",
      "/v1/team/webhook-secret",
      {
        key: told.session,
      },
    );
    assert.equal(secrets.status, 201);
    const url = (name: string) => `${receiver.url}?to=${name}`;
    await make(told.liveKey, "/v1/webhooks", { url: url("live-hook") });
    await make(told.testKey, "/v1/webhooks", { url: url("test-hook") });
    const done = async (key: string, name: string) => {
      const job = await make(key, "/v1/verify/bulk", {
        emails: ["valid@plain.test"],
        webhook_url: url(name),
      });
      await api.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, { key });
      return job.id;
    };
    const [live, test] = [await done(told.liveKey, "live-job"), await done(told.testKey, "test-job")];
    const arrived = await until("all four arrived", () => {
      const seen = receiver.received.flatMap(({ path, body }) => {
        const { data, livemode } = JSON.parse(body) as { data: BulkJob; livemode: boolean };
        return data.id === live || data.id === test ? [[path.split("to=")[1], data.id, livemode]] : [];
      });
      return seen.length >= 4 && seen;
    });
    const settled = await until("nothing waits", async () => {
      const [row] = await deployment.sql<[{ waiting: boolean; count: number }]>`
        select bool_or(status = 'pending') as waiting, count(*)::int as count
        from webhook_deliveries where team_id = ${told.id}`;
      return !row.waiting && row.count;
    });
    assert.equal(settled, 4);
    assert.deepEqual(arrived.map(String).sort(), [
      `live-hook,${live},true`,
      `live-job,${live},true`,
      `test-hook,${test},false`,
      `test-job,${test},false`,
    ]);
    // What a test key sends to the endpoint of live jobs is not genuine there.
    const { secret, test_secret } = secrets.body;
    const isSignedBy = (signer: string, name: string) => {
      const sent = receiver.received.find(({ path }) => path.endsWith(`to=${name}`));
      assert.ok(sent);
      try {
        new Webhook(signer).verify(sent.body, sent.headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    assert.deepEqual(
      [secret, test_secret].map((signer) => ["live-job", "test-job"].map((name) => isSignedBy(signer, name))),
      [
        [true, false],
        [false, true],
      ],
    );
  });
});

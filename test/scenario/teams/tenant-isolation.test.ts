import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type IdPrefix, newId } from "../../../src/platform/ids.ts";
import { addKey, addMember } from "../../support/members.ts";
import { routes } from "../../support/route-table.ts";
import {
  createDeployment,
  type Response,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/**
 * Ids of another team are answered exactly like ids that do not exist: for every operation with an id in its path, and
 * for every id in a body. The operations are exactly those that the API describes.
 */
let deployment: TestDeployment;
let api: TestApi;
/** The owner whose data is requested, and the owner of another team who requests it. */
let victim: Team;
let stranger: Team;
const closing = createClosing();

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  api = await deployment.startApi();
  await deployment.startRelay();
  victim = await deployment.team("enterprise");
  stranger = await deployment.team("enterprise");
});
after(closing.close);

async function make<T extends object>(path: string, body: unknown): Promise<T> {
  const made = await api.send<T>("POST", path, { key: victim.session, body });
  assert.ok(made.status < 300, `${path}: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}

let domains = 0;
const newDomain = () => `isolated-${1_000 + domains++}.example`;
const ofLength = (id: string) => newId(id.split("_")[0] as IdPrefix);

/** An object of the victim, and ids of the same form that do not exist. */
interface Target {
  theirs: Record<string, string>;
  nobodys: Record<string, string>;
  body?: unknown;
}

const target = (id: string, body?: unknown): Target => ({
  theirs: { id },
  nobodys: { id: ofLength(id) },
  ...(body === undefined ? {} : { body }),
});

const aJob = async () =>
  target((await make<{ id: string }>("/v1/verify/bulk", { emails: ["exists@plain.test"] })).id);
/** A job that has ended, so that the stream of its events ends too. */
const anEndedJob = async () => {
  const job = await aJob();
  await api.send("POST", `/v1/bulk-jobs/${job.theirs.id}/cancel`, { key: victim.session });
  return job;
};
const anUpload = async (): Promise<Target> => {
  const { id } = await make<{ id: string }>("/v1/uploads", { filename: "list.csv" });
  return { theirs: { upload: id }, nobodys: { upload: ofLength(id) } };
};
const IN_PARTS = { filename: "list.csv", bytes: 10, part_bytes: 5_242_880 };
const aPartedUpload = async (): Promise<Target> => {
  const { id } = await make<{ id: string }>("/v1/uploads", IN_PARTS);
  return { theirs: { upload: id }, nobodys: { upload: ofLength(id) } };
};
const aWebhook = async (body?: unknown) =>
  target((await make<{ id: string }>("/v1/webhooks", { url: "http://127.0.0.1:18099/hook" })).id, body);
const aMember = async (body?: unknown) => {
  const { id } = await addMember(deployment.sql, victim.id, "member");
  return target(id, body);
};
const aDomain = async (path: string, body: (domain: string) => unknown): Promise<Target> => {
  const domain = newDomain();
  await make(path, body(domain));
  return { theirs: { domain }, nobodys: { domain: newDomain() } };
};

async function aDelivery(): Promise<Target> {
  const { theirs } = await aWebhook();
  const log = `/v1/webhooks/${theirs.id}/deliveries`;
  await make(`/v1/webhooks/${theirs.id}/ping`, undefined);
  const delivery = await until("the ping has a delivery", async () => {
    const page = await api.send<{ data: { id: string }[] }>("GET", log, { key: victim.session });
    return page.body.data[0] ?? null;
  });
  return {
    theirs: { id: theirs.id ?? "", delivery_id: delivery.id },
    nobodys: { id: newId("wh"), delivery_id: ofLength(delivery.id) },
  };
}

/** By method and path: makes what the operation is about. */
const TARGETS: Record<string, () => Promise<Target>> = {
  "GET /v1/bulk-jobs/{id}": aJob,
  "POST /v1/bulk-jobs/{id}/cancel": aJob,
  "DELETE /v1/bulk-jobs/{id}": aJob,
  "GET /v1/bulk-jobs/{id}/results": aJob,
  "GET /v1/bulk-jobs/{id}/deferred": aJob,
  "GET /v1/bulk-jobs/{id}/providers": aJob,
  "GET /v1/bulk-jobs/{id}/events": anEndedJob,
  "GET /v1/uploads/{upload}": anUpload,
  "GET /v1/uploads/{upload}/parts": aPartedUpload,
  "POST /v1/uploads/{upload}/complete": anUpload,
  "POST /v1/uploads/{upload}/preview": async () => ({ ...(await anUpload()), body: {} }),
  "DELETE /v1/uploads/{upload}": anUpload,
  "DELETE /v1/keys/{id}": async () => {
    const key = await addKey(deployment.sql, { teamId: victim.id, userId: victim.ownerId }, "member");
    return target(key.id);
  },
  "PATCH /v1/team/members/{id}": () => aMember({ role: "admin" }),
  "DELETE /v1/team/members/{id}": () => aMember(),
  "DELETE /v1/team/invites/{id}": async () => {
    const email = `invited${domains++}@members.example`;
    return target((await make<{ id: string }>("/v1/team/invites", { email, role: "member" })).id);
  },
  "DELETE /v1/blocklist/{domain}": () => aDomain("/v1/blocklist", (domain) => ({ domain })),
  "DELETE /v1/admin/disposable/{domain}": () =>
    aDomain("/v1/admin/disposable", (domain) => ({ domains: [domain] })),
  "PATCH /v1/webhooks/{id}": () => aWebhook({ description: "mine now" }),
  "DELETE /v1/webhooks/{id}": () => aWebhook(),
  "POST /v1/webhooks/{id}/rotate-secret": () => aWebhook(),
  "GET /v1/webhooks/{id}/deliveries": () => aWebhook(),
  "POST /v1/webhooks/{id}/ping": () => aWebhook(),
  "POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver": aDelivery,
};

const fill = (path: string, params: Record<string, string>) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));

/** Fields that differ between any two answers. */
const OF_EACH = new Set(["date", "x-request-id", "ratelimit", "ratelimit-policy"]);

/** An answer without what differs between any two, ids and domains by their role. */
function comparable({ status, headers, body }: Response<unknown>, params: Record<string, string>) {
  let text = JSON.stringify(body, (name, value: unknown) => (name === "request_id" ? "…" : value));
  for (const [name, value] of Object.entries(params)) text = text.replaceAll(value, `{${name}}`);
  return { status, headers: [...headers].filter(([name]) => !OF_EACH.has(name)), body: text };
}

/** Operations whose parameter names the sent thing, not an existing one. */
const OF_NOTHING = ["PUT /v1/uploads/{upload}"];

/** A test key is refused before the id is looked at. */
const isLiveOnly = (operation: string) =>
  routes.some(({ method, path, liveOnly }) => liveOnly === true && `${method} ${path}` === operation);

describe("another team's id", () => {
  it("has an entry here for every operation that takes one, and for no other", async () => {
    const { body } = await api.send<{ paths: Record<string, object> }>("GET", "/openapi.json");
    const operations = Object.entries(body.paths)
      .filter(([path]) => path.includes("{"))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
    assert.deepEqual([...Object.keys(TARGETS), ...OF_NOTHING].sort(), operations.sort());
  });

  for (const [operation, makeTarget] of Object.entries(TARGETS))
    it(`is answered like an id that does not exist by ${operation}`, async () => {
      const [method = "", path = ""] = operation.split(" ");
      const { theirs, nobodys, body } = await makeTarget();
      const ask = (key: string, params: Record<string, string>) =>
        api.send<unknown>(method, fill(path, params), { key, ...(body === undefined ? {} : { body }) });
      for (const key of [stranger.session, stranger.liveKey, stranger.testKey]) {
        const ofNobodys = await ask(key, nobodys);
        const ofTheirs = await ask(key, theirs);
        const expected = key === stranger.testKey && isLiveOnly(operation) ? 403 : 404;
        assert.equal(ofNobodys.status, expected, JSON.stringify(ofNobodys.body));
        assert.deepEqual(comparable(ofTheirs, theirs), comparable(ofNobodys, nobodys));
      }
      // The object existed all the time, and the other team has changed nothing.
      const own = await fetch(api.url + fill(path, theirs), {
        method,
        headers: { Authorization: `Bearer ${victim.session}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await own.text();
      assert.ok(own.status < 300 || own.status === 409, `${own.status} ${text}`);
    });

  it("is answered like an id that does not exist when one of two ids in a path is one's own", async () => {
    const { theirs } = await aDelivery();
    const made = await api.send<{ id: string }>("POST", "/v1/webhooks", {
      key: stranger.session,
      body: { url: "http://127.0.0.1:18099/hook" },
    });
    const redeliver = (deliveryId: string) =>
      api.send("POST", `/v1/webhooks/${made.body.id}/deliveries/${deliveryId}/redeliver`, {
        key: stranger.session,
      });
    const nobodys = ofLength(theirs.delivery_id ?? "");
    const answers = [await redeliver(theirs.delivery_id ?? ""), await redeliver(nobodys)];
    assert.equal(answers[0]?.status, 404);
    assert.deepEqual(
      answers.map((answer) => comparable(answer, {})),
      [answers[1], answers[1]].map((answer) => comparable(answer as Response, {})),
    );
  });

  it("in a body is answered like an id that does not exist", async () => {
    const { id } = await addMember(deployment.sql, victim.id, "member");
    const transfer = (userId: string) =>
      api.send("POST", "/v1/team/transfer", { key: stranger.session, body: { user_id: userId } });
    const [ofTheirs, ofNobodys] = [await transfer(id), await transfer(newId("usr"))];
    assert.ok(ofNobodys.status >= 400);
    assert.deepEqual(comparable(ofTheirs, {}), comparable(ofNobodys, {}));
  });
});

describe("lists", () => {
  it("show a team its own only, whatever cursor another team was given", async () => {
    await Promise.all([aJob(), aWebhook(), aMember(), anUpload(), anUpload()]);
    for (let i = 0; i < 3; i++) await aDomain("/v1/blocklist", (domain) => ({ domain }));
    for (const path of [
      "/v1/keys",
      "/v1/webhooks",
      "/v1/blocklist",
      "/v1/bulk-jobs",
      "/v1/uploads",
      "/v1/admin/disposable",
    ]) {
      const theirs = await api.send<Page>("GET", `${path}?limit=1`, { key: victim.session });
      const cursor = theirs.body.next_cursor;
      const own = await api.send<Page>("GET", path, { key: stranger.session });
      const ids = new Set(own.body.data.map(({ id, domain }) => id ?? domain));
      for (const { id, domain } of theirs.body.data) assert.ok(!ids.has(id ?? domain), path);
      if (cursor === null) continue;
      const after = await api.send<Page>("GET", `${path}?cursor=${cursor}`, { key: stranger.session });
      assert.equal(after.status, 200);
      for (const { id, domain } of after.body.data) assert.ok(ids.has(id ?? domain), path);
    }
  });
});

interface Page {
  data: { id?: string; domain?: string }[];
  next_cursor: string | null;
}

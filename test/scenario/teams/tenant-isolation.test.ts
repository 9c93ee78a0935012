import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type IdPrefix, newId } from "../../../src/platform/ids.ts";
import { ended } from "../../support/bulk.ts";
import { addKey, addMember } from "../../support/members.ts";
import { fillPath, operationOf, routes } from "../../support/route-table.ts";
import {
  createDeployment,
  type Response,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import {
  type CreateObject,
  createTeamObjects,
  type ObjectOperation,
  operationsOnObjects,
  type PathParams,
} from "../../support/team-objects.ts";

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
  await Promise.all([deployment.startRelay(), deployment.startBulk()]);
  victim = await deployment.team("enterprise");
  stranger = await deployment.team("enterprise");
});
after(closing.close);

const objects = createTeamObjects(() => api);
const { make } = objects;

let domains = 0;
const newDomain = () => `isolated-${1_000 + domains++}.example`;

const aMember: CreateObject = async () => {
  const { id } = await addMember(deployment.sql, victim.id, "owner");
  return { id };
};
const aDomain =
  (path: string, body: (domain: string) => unknown): CreateObject =>
  async (key) => {
    const domain = newDomain();
    await make(key, path, body(domain));
    return { domain };
  };
const blockedDomain = aDomain("/v1/blocklist", (domain) => ({ domain }));
const disposableDomain = aDomain("/v1/admin/disposable", (domain) => ({ domains: [domain] }));
const anInvite: CreateObject = async (key) => {
  const email = `invited${domains++}@members.example`;
  const { id } = await make(key, "/v1/team/invites", { email, role: "member" });
  return { id };
};
/** A job whose results are ready. */
const aDoneJob: CreateObject = async () => {
  const job = await objects.job(victim.testKey);
  await ended(api, victim.testKey, job.id ?? "");
  return job;
};

/** By method and path: what the operation is about. */
const TARGETS: Record<string, ObjectOperation> = {
  ...operationsOnObjects(objects),
  "GET /v1/bulk-jobs/{id}/results": { by: aDoneJob },
  "GET /v1/bulk-jobs/{id}/deferred": { by: aDoneJob },
  "DELETE /v1/keys/{id}": {
    by: async () => {
      const { id } = await addKey(deployment.sql, { teamId: victim.id, userId: victim.ownerId }, "member");
      return { id };
    },
  },
  "PATCH /v1/team/members/{id}": { by: aMember, body: { role: "member" } },
  "DELETE /v1/team/members/{id}": { by: aMember },
  "DELETE /v1/team/invites/{id}": { by: anInvite },
  "DELETE /v1/blocklist/{domain}": { by: blockedDomain },
  "DELETE /v1/admin/disposable/{domain}": { by: disposableDomain },
};

const ofSameKind = (id: string) => newId(id.split("_")[0] as IdPrefix);
const mapped = (params: PathParams, to: (value: string, name: string) => string): PathParams =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, to(value, name)]));
/** Parameters of the same form that no object has. */
const nobodys = (params: PathParams) =>
  mapped(params, (id, name) => (name === "domain" ? newDomain() : ofSameKind(id)));
/** Parameters of no valid form, by the kind of each. */
const malformed = (params: PathParams) =>
  [() => "\0", (kind: string) => `${kind}_x`, (kind: string) => `${kind}_\0'--`, () => "nonsense"].map(
    (form) => mapped(params, (id) => form(id.split("_")[0] ?? "")),
  );

const fill = (path: string, params: PathParams) =>
  fillPath(path, (name) => encodeURIComponent(params[name] ?? ""));

/** What another team's request could have changed without an object appearing or disappearing. */
const stateOf = ({ id = "", upload = "" }: PathParams) =>
  Promise.all([
    deployment.sql`select status, bytes, etag from uploads where id in (${id}, ${upload})`,
    deployment.sql`select url, events, description, status, secret from webhooks where id = ${id}`,
    deployment.sql`select status from jobs where id = ${id} and status = 'cancelled'`,
    deployment.sql`select role from memberships where user_id = ${id}`,
  ]);

/**
 * Fields that differ between any two answers. The length differs by when the body of the request came: an answer before its
 * end is chunked. The bodies of the answers are compared whole.
 */
const OF_EACH = new Set([
  "content-length",
  "date",
  "ratelimit",
  "ratelimit-policy",
  "transfer-encoding",
  "x-request-id",
]);

/** An answer without what differs between any two, ids and domains by their role. */
function comparable({ status, headers, body }: Response<unknown>, params: PathParams) {
  let text = JSON.stringify(body, (name, value: unknown) => (name === "request_id" ? "…" : value));
  for (const [name, value] of Object.entries(params)) text = text.replaceAll(value, `{${name}}`);
  return { status, headers: [...headers].filter(([name]) => !OF_EACH.has(name)), body: text };
}

/** Operations whose parameter names the sent thing, not an existing one. */
const OF_NOTHING = ["PUT /v1/uploads/{upload}"];

/** A test key is refused before the id is looked at. */
const isLiveOnly = (operation: string) =>
  routes.some((route) => route.liveOnly === true && operationOf(route) === operation);

describe("another team's id", () => {
  it("has an entry here for every operation that takes one, and for no other", async () => {
    const { body } = await api.send<{ paths: Record<string, object> }>("GET", "/openapi.json");
    const operations = Object.entries(body.paths)
      .filter(([path]) => path.includes("{"))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
    assert.deepEqual([...Object.keys(TARGETS), ...OF_NOTHING].sort(), operations.sort());
  });

  for (const [operation, { by, body }] of Object.entries(TARGETS))
    it(`is answered like an id that does not exist by ${operation}`, async () => {
      const [method = "", path = ""] = operation.split(" ");
      const theirs = await by(victim.session);
      const ask = (key: string, params: PathParams) =>
        api.send<unknown>(method, fill(path, params), { key, ...(body === undefined ? {} : { body }) });
      const before = await stateOf(theirs);
      for (const key of [stranger.session, stranger.liveKey, stranger.testKey]) {
        const unknown = nobodys(theirs);
        const ofUnknown = await ask(key, unknown);
        const expected = key === stranger.testKey && isLiveOnly(operation) ? 403 : 404;
        assert.equal(ofUnknown.status, expected, JSON.stringify(ofUnknown.body));
        for (const params of [theirs, ...malformed(theirs)])
          assert.deepEqual(comparable(await ask(key, params), params), comparable(ofUnknown, unknown));
      }
      assert.deepEqual(await stateOf(theirs), before);
      // The object existed all the time, and the other team has not removed it.
      const own = await fetch(api.url + fill(path, theirs), {
        method,
        headers: { Authorization: `Bearer ${victim.session}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await own.text();
      assert.ok(own.status < 300 || own.status === 409, `${own.status} ${text}`);
    });

  it("is answered like an id that does not exist when one of two ids in a path is one's own", async () => {
    const { delivery_id: theirs = "" } = await objects.delivery(victim.session);
    const { id } = await objects.webhook(stranger.session);
    const redeliver = (deliveryId: string) =>
      api.send("POST", `/v1/webhooks/${id}/deliveries/${encodeURIComponent(deliveryId)}/redeliver`, {
        key: stranger.session,
      });
    const unknown = await redeliver(ofSameKind(theirs));
    assert.equal(unknown.status, 404);
    for (const deliveryId of [theirs, "dlv_\0"])
      assert.deepEqual(comparable(await redeliver(deliveryId), {}), comparable(unknown, {}));
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

/** Objects in each list of a team. */
const LISTS: Record<string, CreateObject> = {
  "/v1/keys": async () => ({}),
  "/v1/webhooks": objects.webhook,
  "/v1/blocklist": blockedDomain,
  "/v1/bulk-jobs": objects.job,
  "/v1/uploads": objects.upload,
  "/v1/admin/disposable": disposableDomain,
  "/v1/team/invites": anInvite,
  "/v1/events": objects.event,
};

interface Page {
  data: { id?: string; domain?: string }[];
  next_cursor: string | null;
}

describe("a list", () => {
  it("has an entry here for every route that takes a cursor and no id, and for no other", () => {
    const paged = routes.filter(
      ({ path, query }) =>
        !path.includes("{") && "cursor" in ((query as { entries?: object })?.entries ?? {}),
    );
    assert.deepEqual(Object.keys(LISTS).sort(), paged.map(({ path }) => path).sort());
  });

  for (const [path, by] of Object.entries(LISTS))
    it(`shows a team its own only, whatever cursor another team was given: ${path}`, async () => {
      const namesAt = async (key: string, query: string) => {
        const { status, body } = await api.send<Page>("GET", path + query, { key });
        assert.equal(status, 200);
        return { names: body.data.map(({ id, domain }) => id ?? domain ?? ""), cursor: body.next_cursor };
      };
      for (let i = 0; i < 3; i++) await by(victim.session);
      await by(stranger.session);
      const own = await namesAt(stranger.session, "");
      assert.ok(own.names.length > 0);
      const theirs = await namesAt(victim.session, "?limit=1");
      assert.equal(theirs.names.length, 1);
      assert.ok(!own.names.includes(theirs.names[0] ?? ""));
      const after = await namesAt(stranger.session, `?cursor=${theirs.cursor ?? assert.fail("no cursor")}`);
      for (const name of after.names) assert.ok(own.names.includes(name), name);
    });
});

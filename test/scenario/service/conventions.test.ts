import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import type { Method, TeamRoute } from "../../../src/api/routing/route.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { MemberRole } from "../../../src/features/identity/actor.ts";
import { ContractProblem } from "../../support/contract.ts";
import { addKey, addKeyWithoutUser, addMember } from "../../support/members.ts";
import { fillPath, operationOf, routes, unusedId } from "../../support/route-table.ts";
import {
  createDeployment,
  type Response,
  type SendOptions,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";

/** Conventions of every route, checked on each of the table: a new route is covered without a change here. */
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  api = await deployment.startApi({ TRUSTED_PROXIES: "127.0.0.1" });
  team = await deployment.team("enterprise");
});
after(() => deployment.stop());

const fill = (path: string) => fillPath(path, (name) => unusedId(path, name));

let clients = 0;
/** Each request comes from an address of its own: one that has many bodies or credentials refused is refused itself. */
function fromAnother() {
  clients += 1;
  return { "X-Forwarded-For": `198.18.${Math.floor(clients / 256)}.${clients % 256}` };
}

/** Asks as the owner by default. */
function ask({ method, path }: { method: string; path: string }, options: SendOptions = {}, query = "") {
  const headers = { ...fromAnother(), ...options.headers };
  return api.send(method, fill(path) + query, { key: team.session, ...options, headers });
}

function assertProblem(answer: Response, status: number, code: string, what: string): void {
  assert.deepEqual(
    [answer.status, answer.body?.code],
    [status, code],
    `${what}: ${JSON.stringify(answer.body)}`,
  );
  v.assert(ContractProblem, answer.body);
  assert.equal(answer.headers.get("content-type"), "application/problem+json", what);
  assert.equal(answer.headers.get("x-request-id"), answer.body.request_id, what);
}

const KEY_WITHOUT_USER = "a key whose user has left";
/**
 * Not asked with a sufficient role: these end the credential, or refuse by more than the role (another member's removal,
 * who operates the deployment).
 */
const NOT_BY_ROLE_ALONE = ["deleteTeam", "logout", "removeMember", "getDeployment"];
const ownerOf = ({ id, ownerId }: Team) => ({ teamId: id, userId: ownerId });
const ofTeams = routes.filter((route): route is TeamRoute => route.access !== "public");
const bodied = routes.filter((route) => route.body !== undefined);

describe("every route of a team", () => {
  it("refuses a request without a credential, and says how to send one", async () => {
    assert.ok(ofTeams.length >= 20);
    for (const route of ofTeams)
      for (const authorization of [undefined, "Bearer nonsense", "Basic dXNlcjpwYXNz"]) {
        const answer = await api.send(route.method, fill(route.path), {
          headers: {
            ...fromAnother(),
            ...(authorization === undefined ? {} : { Authorization: authorization }),
          },
        });
        assertProblem(answer, 401, "unauthorized", operationOf(route));
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer\b/);
        assert.equal(answer.headers.get("ratelimit"), null);
      }
  });

  const ROLES = ["member", "admin", "owner"] as const;
  const credentials: [what: string, role: MemberRole, secretOf: () => Promise<string>][] = [
    ["a member's key", "member", async () => (await addKey(deployment.sql, ownerOf(team), "member")).secret],
    [
      "a member's session",
      "member",
      async () => (await addMember(deployment.sql, team.id, "member")).session,
    ],
    ["an admin's key", "admin", async () => (await addKey(deployment.sql, ownerOf(team), "admin")).secret],
    ["an admin's session", "admin", async () => (await addMember(deployment.sql, team.id, "admin")).session],
    ["an owner's key", "owner", async () => team.liveKey],
    [KEY_WITHOUT_USER, "member", async () => (await addKeyWithoutUser(deployment.sql, ownerOf(team))).secret],
  ];
  for (const [what, role, secretOf] of credentials)
    it(`serves ${what} by the role, before it looks at the input`, async () => {
      const key = await secretOf();
      for (const route of ofTeams) {
        const isEnough = ROLES.indexOf(role) >= ROLES.indexOf(route.access.role);
        if (isEnough && NOT_BY_ROLE_ALONE.includes(route.operationId)) continue;
        const answer = await ask(route, { key, ...(route.body ? { body: "{" } : {}) });
        if (what === KEY_WITHOUT_USER && route.needsUser === true)
          assertProblem(answer, 401, "key_without_user", operationOf(route));
        else if (isEnough) assert.notEqual(answer.body?.code, "insufficient_role", operationOf(route));
        else assertProblem(answer, 403, "insufficient_role", operationOf(route));
      }
    });
});

describe("every path", () => {
  it("says which methods it has, to the others and to OPTIONS", async () => {
    const methods: Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    for (const path of new Set(routes.map((route) => route.path))) {
      const own = routes.filter((route) => route.path === path).map((route) => route.method);
      const options = await ask({ method: "OPTIONS", path });
      assert.equal(options.status, 204);
      const allow = options.headers.get("allow")?.split(", ") ?? [];
      for (const method of own) assert.ok(allow.includes(method), path);
      for (const method of methods.filter((method) => !own.includes(method))) {
        const answer = await ask({ method, path });
        assertProblem(answer, 405, "method_not_allowed", `${method} ${path}`);
        assert.deepEqual(answer.headers.get("allow")?.split(", "), allow);
      }
    }
  });

  it("takes no parameter that it does not know", async () => {
    for (const route of routes.filter(({ query }) => query !== "ignored")) {
      const body = route.bodyExample === undefined ? {} : { body: route.bodyExample };
      const answer = await ask(route, body, "?no_such_parameter=1");
      assertProblem(answer, 400, "validation_failed", operationOf(route));
      const paths = (answer.body.errors as { path: string }[]).map(({ path }) => path);
      assert.ok(paths.includes("no_such_parameter"), operationOf(route));
    }
  });
});

describe("every body", () => {
  it("must be JSON, and say so", async () => {
    for (const route of bodied)
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
        "",
      ]) {
        const answer = await ask(route, {
          body: JSON.stringify(route.bodyExample),
          headers: { "Content-Type": type },
        });
        assertProblem(answer, 415, "unsupported_media_type", `${operationOf(route)} ${type}`);
      }
  });

  it("must be well formed", async () => {
    for (const route of bodied)
      for (const body of ["{", '{"a":1}}', "\u0000", '{"a":"\ud800', "undefined"])
        assertProblem(await ask(route, { body }), 400, "malformed_json", operationOf(route));
  });

  it("must be an object with the fields that it wants and no other", async () => {
    for (const route of bodied) {
      for (const body of ["[]", "null", '"text"', "1"])
        assertProblem(await ask(route, { body }), 400, "validation_failed", `${operationOf(route)} ${body}`);
      const answer = await ask(route, { body: { ...(route.bodyExample as object), no_such_field: true } });
      assertProblem(answer, 400, "validation_failed", operationOf(route));
      const errors = answer.body.errors as { path: string; message: string }[];
      assert.deepEqual(
        errors,
        [{ path: "no_such_field", message: "is not a known field" }],
        operationOf(route),
      );
    }
  });

  it("has its bound", async () => {
    for (const route of bodied) {
      const bytes = (route.bodyBytes ?? LIMITS.http.bodyBytes) + 1;
      assertProblem(await ask(route, { body: " ".repeat(bytes) }), 413, "body_too_large", operationOf(route));
    }
  });

  it("names the item of a list that is wrong", async () => {
    const domains = ["one.example", "two.example", 3, "x".repeat(254)];
    const answer = await ask({ method: "POST", path: "/v1/admin/disposable" }, { body: { domains } });
    assertProblem(answer, 400, "validation_failed", "domains");
    const paths = (answer.body.errors as { path: string }[]).map(({ path }) => path);
    assert.deepEqual([...new Set(paths)], ["domains.2", "domains.3"]);
  });
});

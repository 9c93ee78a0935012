import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { MemberRole } from "../../../src/features/identity/actor.ts";
import type { Member } from "../../../src/features/teams/members.ts";
import type { TeamView } from "../../../src/features/teams/team.ts";
import { newId } from "../../../src/platform/ids.ts";
import { addKey, addMember, type TestMember } from "../../support/members.ts";
import { createDeployment, type Response, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { afterASecond } from "../../support/until.ts";

/** Members of a team, their roles, and who may change them. */
const closing = createClosing();
let deployment: TestDeployment;
let one: TestApi;
let two: TestApi;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [one, two] = await Promise.all([deployment.startApi(), deployment.startApi()]);
});
after(closing.close);

type Answered = Response<(TeamView & Member & { code?: string }) | null>;
const outcome = ({ status, body }: Answered) =>
  body?.code === undefined ? String(status) : `${status} ${body.code}`;

function send(key: string | undefined, method: string, path: string, body?: unknown, api = one) {
  return api.send<Answered["body"]>(method, path, {
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body }),
  });
}
const setRole = (key: string, id: string, role: MemberRole, api = one) =>
  send(key, "PATCH", `/v1/team/members/${id}`, { role }, api);
const remove = (key: string, id: string, api = one) =>
  send(key, "DELETE", `/v1/team/members/${id}`, undefined, api);
const transfer = (key: string, userId: string, api = one) =>
  send(key, "POST", "/v1/team/transfer", { user_id: userId }, api);

/** A team of an owner, an admin and a member, each signed in. */
async function staffed() {
  const team = await deployment.team("enterprise");
  const admin = await addMember(deployment.sql, team.id, "admin");
  const member = await addMember(deployment.sql, team.id, "member");
  const owner: TestMember = { id: team.ownerId, email: team.ownerEmail, session: team.session };
  return { team, owner, admin, member };
}

/** Roles by user as the database has them. */
async function rolesOf(teamId: string): Promise<Record<string, MemberRole>> {
  const rows = await deployment.sql<{ user_id: string; role: MemberRole }[]>`
    select user_id, role from memberships where team_id = ${teamId}`;
  return Object.fromEntries(rows.map((row) => [row.user_id, row.role]));
}

const ownersOf = async (teamId: string) =>
  Object.values(await rolesOf(teamId)).filter((role) => role === "owner").length;

describe("the team", () => {
  it("is shown to each member and key of it, with the caller's own role", async () => {
    const { team, owner, admin, member } = await staffed();
    const { status, body } = await send(owner.session, "GET", "/v1/team");
    assert.equal(status, 200);
    assert.ok(body);
    const { members, created_at, name, ...rest } = body;
    assert.deepEqual(rest, { id: team.id, tier: "enterprise", role: "owner" });
    assert.match(name, /^team \d+$/);
    assert.match(created_at, /^\d{4}-.*\.\d{3}Z$/);
    assert.deepEqual(
      members.map(({ joined_at: _, ...known }) => known),
      [
        { id: owner.id, email: owner.email, role: "owner" },
        { id: admin.id, email: admin.email, role: "admin" },
        { id: member.id, email: member.email, role: "member" },
      ],
    );
    for (const [key, role] of [
      [admin.session, "admin"],
      [member.session, "member"],
      [team.testKey, "owner"],
      [(await addKey(deployment.sql, { teamId: team.id, userId: owner.id }, "member")).secret, "member"],
    ] as const)
      assert.equal((await send(key, "GET", "/v1/team")).body?.role, role);
  });

  it("is renamed by an admin, with a name that is one line of text", async () => {
    const { team, admin, member } = await staffed();
    const renamed = await send(admin.session, "PATCH", "/v1/team", { name: "Ömer & Søn 🏭" });
    assert.deepEqual([renamed.status, renamed.body?.name], [200, "Ömer & Søn 🏭"]);
    assert.equal((await send(member.session, "GET", "/v1/team", undefined, two)).body?.name, "Ömer & Søn 🏭");
    const rename = async (key: string | undefined, body: unknown) =>
      outcome(await send(key, "PATCH", "/v1/team", body));
    assert.equal(await rename(member.session, { name: "x" }), "403 insufficient_role");
    assert.equal(await rename(undefined, { name: "x" }), "401 unauthorized");
    for (const body of [
      {},
      { name: "" },
      { name: "a\0" },
      { name: "\udfff" },
      { name: "x", tier: "enterprise" },
      [],
    ])
      assert.equal(await rename(team.session, body), "400 validation_failed", JSON.stringify(body));
  });
});

describe("roles", () => {
  it("are given by admins, but those of owners by owners only", async () => {
    const { owner, admin, member } = await staffed();
    const raised = await setRole(admin.session, member.id, "admin");
    assert.deepEqual([raised.status, raised.body?.id, raised.body?.role], [200, member.id, "admin"]);
    assert.equal(outcome(await setRole(admin.session, member.id, "owner")), "403 insufficient_role");
    assert.equal(outcome(await setRole(admin.session, admin.id, "owner")), "403 insufficient_role");
    assert.equal(outcome(await setRole(admin.session, owner.id, "member")), "403 insufficient_role");
    assert.equal(outcome(await setRole(owner.session, member.id, "owner")), "200");
    assert.equal(outcome(await setRole(owner.session, owner.id, "member")), "200");
    assert.equal(outcome(await setRole(owner.session, admin.id, "member")), "403 insufficient_role");
  });

  it("count at once where they were changed, and within a second in the other process", async () => {
    const { team, owner, admin } = await staffed();
    for (const api of [one, two])
      assert.equal((await send(admin.session, "GET", "/v1/team", undefined, api)).status, 200);
    await setRole(owner.session, admin.id, "member");
    assert.equal((await send(admin.session, "GET", "/v1/team")).body?.role, "member");
    await afterASecond();
    assert.equal((await send(admin.session, "GET", "/v1/team", undefined, two)).body?.role, "member");
    assert.equal((await rolesOf(team.id))[admin.id], "member");
  });

  it("leave one owner: neither demoted nor removed, nor by himself", async () => {
    const { owner, admin } = await staffed();
    for (const answer of [
      await setRole(owner.session, owner.id, "admin"),
      await remove(owner.session, owner.id),
      await remove(owner.session, owner.id, two),
    ])
      assert.equal(outcome(answer), "409 last_owner");
    assert.equal(outcome(await setRole(owner.session, owner.id, "owner")), "200");
    await setRole(owner.session, admin.id, "owner");
    assert.equal(outcome(await remove(owner.session, owner.id)), "204");
    assert.equal(outcome(await remove(admin.session, admin.id)), "409 last_owner");
  });
});

describe("a member who is removed", () => {
  it("loses access at once: their sessions end, their keys verify and read, nothing else", async () => {
    const { team, admin, owner } = await staffed();
    const key = await addKey(deployment.sql, { teamId: team.id, userId: admin.id }, "admin");
    assert.equal((await send(key.secret, "PATCH", "/v1/team", { name: "his" })).status, 200);
    assert.equal(outcome(await remove(owner.session, admin.id)), "204");
    assert.equal(outcome(await send(admin.session, "GET", "/v1/team")), "401 unauthorized");
    assert.equal((await one.verify(key.secret, "exists@plain.test")).status, 200);
    assert.equal(
      outcome(await send(key.secret, "PATCH", "/v1/team", { name: "his" })),
      "403 insufficient_role",
    );
    assert.equal(
      outcome(await send(key.secret, "POST", "/v1/keys", { label: "x", env: "live" })),
      "401 key_without_user",
    );
    await afterASecond();
    assert.equal((await send(admin.session, "GET", "/v1/team", undefined, two)).status, 401);
    const [left] = await deployment.sql<[{ sessions: number; keys: number; users: number }]>`
      select (select count(*) from sessions where user_id = ${admin.id}) as sessions,
             (select count(*) from api_keys where user_id = ${admin.id}) as keys,
             (select count(*) from users where id = ${admin.id}) as users`;
    assert.deepEqual({ ...left }, { sessions: 0, keys: 0, users: 1 });
    assert.equal(outcome(await remove(owner.session, admin.id)), "404 not_found");
  });

  it("keeps their keys and sessions of another team", async () => {
    const { admin, owner } = await staffed();
    const other = await deployment.team("free");
    await deployment.sql`insert into memberships (team_id, user_id, role) values (${other.id}, ${admin.id}, 'admin')`;
    const key = await addKey(deployment.sql, { teamId: other.id, userId: admin.id }, "admin");
    await remove(owner.session, admin.id);
    assert.equal((await send(key.secret, "PATCH", "/v1/team", { name: "still" })).status, 200);
  });

  it("may be the session's own user; a key below admin removes no member, not even its own user", async () => {
    const { team, owner, admin, member } = await staffed();
    const { secret } = await addKey(deployment.sql, { teamId: team.id, userId: owner.id }, "member");
    assert.equal(outcome(await remove(secret, owner.id)), "403 session_required");
    assert.equal(outcome(await remove(secret, member.id)), "403 insufficient_role");
    assert.equal(outcome(await remove(member.session, admin.id)), "403 insufficient_role");
    assert.equal(outcome(await remove(admin.session, owner.id)), "403 insufficient_role");
    assert.equal(outcome(await remove(member.session, member.id)), "204");
    assert.deepEqual(Object.keys(await rolesOf(team.id)).sort(), [owner.id, admin.id].sort());
  });
});

describe("a transfer", () => {
  it("makes the member an owner and the owner an admin, both or neither", async () => {
    const { team, owner, admin, member } = await staffed();
    const outsider = await addMember(deployment.sql, (await deployment.team("free")).id, "member");
    for (const [key, id, expected] of [
      [admin.session, member.id, "403 insufficient_role"],
      [owner.session, owner.id, "400 validation_failed"],
      [owner.session, outsider.id, "404 not_found"],
      [owner.session, newId("usr"), "404 not_found"],
      [owner.session, "\0", "404 not_found"],
    ] as const)
      assert.equal(outcome(await transfer(key, id)), expected);
    assert.equal(await ownersOf(team.id), 1);
    const handed = await transfer(owner.session, member.id);
    assert.deepEqual([handed.status, handed.body?.role], [200, "admin"]);
    assert.deepEqual(await rolesOf(team.id), {
      [owner.id]: "admin",
      [admin.id]: "admin",
      [member.id]: "owner",
    });
    assert.equal(outcome(await transfer(owner.session, admin.id)), "403 insufficient_role");
  });
});

describe("two owners at once, by two processes", () => {
  const ROUNDS = 50;

  it("who demote one another leave one of them, each time", async () => {
    const { team, owner, admin } = await staffed();
    const [a, b] = [owner, admin];
    for (let round = 0; round < ROUNDS; round++) {
      await deployment.sql`update memberships set role = 'owner' where team_id = ${team.id} and user_id in (${a.id}, ${b.id})`;
      const answers = await Promise.all([
        setRole(a.session, b.id, "admin", one),
        setRole(b.session, a.id, "admin", two),
      ]);
      assert.equal(await ownersOf(team.id), 1);
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      // The losing request's caller is no owner any more, or would be the last owner.
      const lost = answers.filter(({ status }) => status !== 200).map(outcome);
      assert.ok(["403 insufficient_role", "409 last_owner"].includes(lost[0] ?? ""), lost[0]);
    }
  });

  it("who remove one another, or leave, leave one of them", async () => {
    for (const whom of ["the other", "himself"]) {
      for (let round = 0; round < 10; round++) {
        const team = await deployment.team("free");
        const a = { id: team.ownerId, session: team.session };
        const b = await addMember(deployment.sql, team.id, "owner");
        const [ofA, ofB] = whom === "himself" ? [a, b] : [b, a];
        const answers = await Promise.all([remove(a.session, ofA.id, one), remove(b.session, ofB.id, two)]);
        assert.equal(await ownersOf(team.id), 1, whom);
        assert.equal(answers.filter(({ status }) => status === 204).length, 1, answers.map(outcome).join());
      }
    }
  });

  it("that are one, handing the team to two, hand it to one", async () => {
    for (let round = 0; round < 10; round++) {
      const { team, owner, admin, member } = await staffed();
      const answers = await Promise.all([
        transfer(owner.session, admin.id, one),
        transfer(owner.session, member.id, two),
      ]);
      assert.deepEqual(answers.map(outcome).sort(), ["200", "403 insufficient_role"]);
      assert.equal(await ownersOf(team.id), 1);
    }
  });
});

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadConfig } from "../../../src/config/config.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { DeploymentStatus } from "../../../src/features/operator/deployment-status.ts";
import { OPERATOR_COMMANDS } from "../../../src/operator/commands.ts";
import { addMember } from "../../support/members.ts";
import { PASSWORD } from "../../support/portal.ts";
import { capturePrinted } from "../../support/printed.ts";
import { limitFields } from "../../support/rate-fields.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** The command `team` on a running deployment: its output, and how soon its changes take effect. */
const MAIN = resolve(import.meta.dirname, "../../../src/main.ts");
const closing = createClosing();
let deployment: TestDeployment;
let apis: TestApi[];

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  apis = await Promise.all([deployment.startApi(), deployment.startApi()]);
});
after(closing.close);

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** `main` with these arguments in a process of its own. */
function runMain(...args: string[]): Promise<Outcome> {
  const { PATH = "", HOME = "", RCPT_RUN = "" } = process.env;
  const env = { PATH, HOME, RCPT_RUN, ...deployment.settings, LOG_LEVEL: "info" };
  return new Promise((done) => {
    execFile(process.execPath, ["--import", "tsx", MAIN, ...args], { env }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Runs the command in this process. It rejects with the error that `main` would print before it exits with 1. */
async function operate(args: string[], settings: Record<string, string> = {}): Promise<Outcome> {
  const { printed, ...output } = capturePrinted();
  const run = OPERATOR_COMMANDS.get("team") ?? assert.fail("there is no such command");
  const code = await run({
    argv: args,
    config: loadConfig({ ...deployment.settings, LOG_LEVEL: "info", ...settings }),
    ...output,
  }).catch((error: Error) => {
    printed.stderr += `rcpt: ${error.message}\n`;
    return 1;
  });
  return { code, ...printed };
}

async function report(args: string[], settings: Record<string, string> = {}) {
  const { code, stdout, stderr } = await operate([...args, "--json"], settings);
  assert.deepEqual([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

/** Waits for the second within which a process must notice a change. */
function secondPasses(): Promise<true> {
  const changedMs = performance.now();
  return until("a second has passed", () => performance.now() > changedMs + LIMITS.keys.confirmMs || null);
}

const bootstrapOf = (email: string, ...options: string[]) =>
  runMain("bootstrap", "--email", email, "--team", "Isar", "--tier", "free", "--json", ...options);

const quotaOf = async (api: TestApi, key: string) =>
  limitFields((await api.verify(key, "exists@plain.test")).headers).quota?.q;

describe("npm run team", () => {
  it("is a command of main, with its exit codes", async () => {
    const team = await deployment.team("free");
    const done = await runMain("team", "set-tier", team.id, "pro", "--json");
    assert.deepEqual([done.code, done.stderr, JSON.parse(done.stdout).tier], [0, "", "pro"]);
    const failed = await runMain("team", "show", "nobody@example.com");
    assert.deepEqual(failed, { code: 1, stdout: "", stderr: "rcpt: this address owns no team\n" });
    const wrong = await runMain("team", "show");
    assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  });

  for (const [weather, settings] of [
    ["with Redis", {}],
    ["without Redis", { REDIS_URL: "redis://127.0.0.1:1" }],
  ] as const)
    it(`sets the tier and the limits of a team, in force everywhere within a second, ${weather}`, async () => {
      const team = await deployment.team("free");
      for (const api of apis) assert.equal(await quotaOf(api, team.liveKey), 100);
      const raised = await report(["set-tier", team.ownerEmail.toUpperCase(), "pro_plus"], settings);
      assert.deepEqual([raised.id, raised.tier, raised.limits.probing], [team.id, "pro_plus", true]);
      await secondPasses();
      for (const api of apis) {
        assert.equal(await quotaOf(api, team.liveKey), 2_000_000);
        assert.equal((await api.verify(team.liveKey, "exists@plain.test")).body.verdict, "valid");
      }
      const limited = await report(["set-limit", team.id, "daily_quota", "777"], settings);
      assert.deepEqual(limited.overrides, { daily_quota: 777 });
      await secondPasses();
      for (const api of apis) assert.equal(await quotaOf(api, team.liveKey), 777);
      const back = await report(["set-limit", team.id, "daily_quota", "default"], settings);
      assert.deepEqual([back.overrides, back.limits.daily_quota], [{}, 2_000_000]);
    });

  it("marks the team that may read the state of the deployment, and unmarks it", async () => {
    const team = await deployment.team("pro");
    const [api] = apis;
    assert.ok(api);
    const read = (key = team.session) =>
      api.send<DeploymentStatus & { code?: string }>("GET", "/v1/deployment", { key });
    assert.deepEqual([(await read()).status, (await read()).body.code], [403, "insufficient_role"]);
    const marked = await report(["set-operator", team.id, "true"]);
    assert.equal(marked.operator, true);
    const { status, body } = await read();
    assert.equal(status, 200);
    assert.ok(body.egress.routes.length > 0);
    assert.deepEqual(
      [body.pipeline?.workers, body.pipeline?.tasks_outstanding, body.pipeline?.dead_letters],
      [0, 0, 0],
    );
    assert.equal((await api.send("GET", "/v1/auth/me", { key: team.session })).body.operator, true);
    assert.equal((await read(team.testKey)).body.code, "live_credential_needed");
    await report(["set-operator", team.id, "false"]);
    assert.equal((await read()).status, 403);
  });

  it("makes such a team by bootstrap", async () => {
    const made = await bootstrapOf("operator@example.com", "--operator");
    const { session_token: key } = JSON.parse(made.stdout);
    assert.equal((await apis[0]?.send("GET", "/v1/deployment", { key }))?.status, 200);
  });

  it("grants a team where it may read, shows it, and takes it back", async () => {
    const team = await deployment.team("pro");
    const settings = { S3_BUCKET: "rcpt-own" };
    await report(["grant-s3", team.id, "s3://customers/acme"], settings);
    const twice = await report(["grant-s3", team.id, "s3://customers/acme/"], settings);
    assert.deepEqual(twice.s3_grants, ["s3://customers/acme/"]);
    const own = await operate(["grant-s3", team.id, "s3://rcpt-own/teams/"], settings);
    assert.equal(own.code, 1);
    assert.match(own.stderr, /^rcpt: rcpt-own holds the objects of all teams[^\n]+\n$/);
    const left = await report(["revoke-s3", team.id, "s3://customers/acme/"], settings);
    assert.deepEqual(left.s3_grants, []);
    assert.equal((await operate(["revoke-s3", team.id, "s3://customers/acme/"])).code, 1);
  });

  it("makes a link for a new password, once, for an account that has none or has lost it", async () => {
    const { ownerEmail } = await deployment.team("pro");
    const [api = assert.fail("there is no API")] = apis;
    const asked = await api.send("POST", "/v1/auth/password-reset", { body: { email: ownerEmail } });
    assert.deepEqual([asked.status, asked.body.code], [503, "feature_unconfigured"]);
    assert.match(String(asked.body.detail), /operator for a password reset link/);

    const settings = { PUBLIC_URL: "https://rcpt.example/base" };
    const replaced = await report(["reset-link", ownerEmail], settings);
    for (let i = 0; i < LIMITS.portal.resetsPerUser; i++) await report(["reset-link", ownerEmail]);
    const { token, link } = await report(["reset-link", ownerEmail.toUpperCase()], settings);
    assert.equal(
      link,
      `${settings.PUBLIC_URL}/reset-password#${new URLSearchParams({ token, email: ownerEmail })}`,
    );
    const confirm = (token: string) =>
      api.send("POST", "/v1/auth/password-reset/confirm", { body: { token, new_password: PASSWORD } });
    assert.equal((await confirm(replaced.token)).status, 410);
    assert.equal((await confirm(token)).status, 204);
    assert.equal((await confirm(token)).status, 410);
    const credentials = { email: ownerEmail, password: PASSWORD };
    assert.equal((await api.send("POST", "/v1/auth/login", { body: credentials })).status, 200);
    const unknown = await operate(["reset-link", "nobody@example.com"]);
    assert.deepEqual(unknown, { code: 1, stdout: "", stderr: "rcpt: this address has no account\n" });
  });

  it("lists every team, and shows one as people read it", async () => {
    const team = await deployment.team("pro");
    await addMember(deployment.sql, team.id, "member");
    const { stdout } = await operate(["list", "--json"]);
    const listed = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const [{ count }] = await deployment.sql<[{ count: number }]>`select count(*) as count from teams`;
    assert.equal(listed.length, count);
    const mine = listed.find((one) => one.id === team.id);
    assert.deepEqual([mine.members, mine.keys, mine.owners], [2, 2, [team.ownerEmail]]);
    const shown = await operate(["show", team.id]);
    assert.match(shown.stdout, /^rate_per_s +50$/m);
  });

  it("finds an owner by the address as people write it", async () => {
    const made = JSON.parse((await bootstrapOf("Jörg@MÜNCHEN.example")).stdout);
    for (const typed of ["Jörg@MÜNCHEN.example", " Jörg@münchen.example ", "jörg@xn--mnchen-3ya.example"])
      assert.equal((await report(["show", typed])).id, made.team_id, typed);
    assert.match(
      (await operate(["show", "two@at@signs"])).stderr,
      /^rcpt: "two@at@signs" is not an address\n$/,
    );
  });

  it("says in one line what it cannot do, and does nothing", async () => {
    const team = await deployment.team("pro");
    await deployment.sql`
      insert into memberships (team_id, user_id, role)
      select id, ${team.ownerId}, 'owner' from teams where id <> ${team.id} limit 1`;
    for (const [args, code, words] of [
      [["show", "nobody@example.com"], 1, "owns no team"],
      [["set-tier", team.ownerEmail, "free"], 1, "owns several teams; name one: team_"],
      [["show", `team_${"0".repeat(26)}`], 1, "there is no team"],
      [["set-tier", "team_x", "free"], 1, "is neither a team id nor an address"],
      [["set-tier", team.id, "gold"], 2, "TIER must be one of"],
    ] as const) {
      const outcome = await operate([...args]);
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stderr, /^(rcpt|team): [^\n]+\n$/);
      assert.ok(outcome.stderr.includes(words), outcome.stderr);
      assert.equal(outcome.stdout, "");
    }
    const [row] = await deployment.sql<[{ tier: string }]>`select tier from teams where id = ${team.id}`;
    assert.equal(row.tier, "pro");
    const cut = await operate(["show", team.id], { DATABASE_URL: "postgres://127.0.0.1:1/none" });
    assert.equal(cut.code, 1);
    assert.match(cut.stderr, /^rcpt: [^\n]+\n$/);
  });
});

describe("npm run bootstrap", () => {
  it("gives no team to the account that has the address, unless an option confirms it", async () => {
    const registered = await apis[0]?.send<{ user: { id: string } }>("POST", "/v1/auth/register", {
      body: { email: "ceo@example.com", password: "correct horse battery", team_name: "squat" },
    });
    assert.equal(registered?.status, 201);
    const refused = await bootstrapOf("CEO@example.com");
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(
      refused.stderr,
      /^rcpt: this address has an unverified account already[^\n]+--existing-user[^\n]*\n$/,
    );
    const made = await bootstrapOf("ceo@example.com", "--existing-user");
    assert.equal(made.code, 0, made.stderr);
    assert.equal(JSON.parse(made.stdout).user_id, registered?.body.user.id);
  });
});

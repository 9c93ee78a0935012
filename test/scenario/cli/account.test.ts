import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { webhooks } from "../../../packages/client/src/index.ts";
import { addMember } from "../../support/members.ts";
import { PASSWORD } from "../../support/portal.ts";
import { type CommandOptions, runRcpt, startRcptInTerminal } from "../../support/rcpt-command.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";
import type { TerminalSession } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";
import { startReceiver } from "../../support/webhook-receiver.ts";

/** Managing an account by `rcpt`: logging in, keys, the team, webhooks, the blocklist. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let folder: string;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay()]);
});
after(closing.close);
beforeEach(async () => {
  team = await deployment.team("starter", { writesBurst: 2_000, readsBurst: 2_000 });
  folder = mkdtempSync(join(tmpdir(), "rcpt-cli-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const profile = () => join(folder, "rcpt", "profile.json");
const env = (settings: Record<string, string>) => ({
  XDG_CONFIG_HOME: folder,
  XDG_STATE_HOME: folder,
  ...settings,
});

/** With the service and a key of the environment. */
const rcpt = (args: string[], options: Omit<CommandOptions, "env"> = {}) =>
  runRcpt(args, { ...options, env: env({ RCPT_URL: api.url, RCPT_API_KEY: team.liveKey }) });
/** With the credentials that `rcpt login` stored, if any. */
const loggedIn = (
  args: string[],
  settings: Record<string, string> = {},
  options: Omit<CommandOptions, "env"> = {},
) => runRcpt(args, { ...options, env: env(settings) });

async function login(email: string, password: string): Promise<TerminalSession> {
  const terminal = startRcptInTerminal(["login", api.url], { env: env({}) });
  await terminal.shows(/Email/);
  terminal.type(`${email}\r`);
  await terminal.shows(/Password/);
  terminal.type(`${password}\r`);
  return terminal;
}

const give = (key: string, new_password: string) =>
  api.send("POST", "/v1/auth/password", { key, body: { new_password } });

const keysOf = async () =>
  (
    await api.send<{ data: { id: string; label: string; last4: string }[] }>("GET", "/v1/keys", {
      key: team.session,
    })
  ).body.data;

describe("rcpt login", () => {
  it("makes a key for this machine by a password that shows nowhere, and logout revokes it", async () => {
    await give(team.session, PASSWORD);
    const before = await keysOf();
    const terminal = await login(team.ownerEmail, PASSWORD);
    assert.equal(await terminal.ended, 0, terminal.screen());
    assert.match(
      terminal.screen(),
      new RegExp(`logged in to ${api.url} as ${team.ownerEmail}, owner of team \\d+\n`),
    );
    assert.ok(!terminal.output().includes(PASSWORD));
    assert.deepEqual(
      [statSync(profile()).mode & 0o777, statSync(join(folder, "rcpt")).mode & 0o777],
      [0o600, 0o700],
    );
    const [made] = (await keysOf()).filter(({ id }) => !before.some((key) => key.id === id));
    assert.match(made?.label ?? "", /^rcpt on ./);
    assert.match((await loggedIn(["usage"])).stdout, /^0 of 10000 units used/);
    const out = await loggedIn(["logout"]);
    assert.deepEqual([out.code, out.stderr], [0, "logged out, and the key of this machine is revoked\n"]);
    assert.deepEqual([await keysOf(), existsSync(profile())], [before, false]);
    const later = await loggedIn(["usage"]);
    assert.deepEqual(
      [later.code, later.stderr],
      [2, "rcpt: no service is named: rcpt login, or RCPT_URL (docs/cli.md)\n"],
    );
  });

  it("replaces the key of the login before, and keeps nothing of a wrong password", async () => {
    await give(team.session, PASSWORD);
    const before = (await keysOf()).length;
    for (let i = 0; i < 2; i++) assert.equal(await (await login(team.ownerEmail, PASSWORD)).ended, 0);
    assert.equal((await keysOf()).length, before + 1);
    const kept = readFileSync(profile(), "utf8");
    const wrong = await login(team.ownerEmail, "not the password");
    assert.equal(await wrong.ended, 1);
    assert.match(wrong.screen(), /\(invalid_credentials\)/);
    assert.equal(readFileSync(profile(), "utf8"), kept);
  });

  it("signs a member in who may make no keys, and signs out", async () => {
    const member = await addMember(deployment.sql, team.id, "member");
    await give(member.session, PASSWORD);
    const terminal = await login(member.email, PASSWORD);
    assert.equal(await terminal.ended, 0, terminal.screen());
    assert.match(terminal.screen(), /you may make no keys in this team: signed in until \d{4}-/);
    const { key } = JSON.parse(readFileSync(profile(), "utf8"));
    assert.match((await loggedIn(["team"])).stdout, /you are member, 2 members/);
    assert.equal((await loggedIn(["logout"])).code, 0);
    assert.equal((await api.send("GET", "/v1/team", { key })).status, 401);
  });

  it("takes a key from standard input, and gives it to its own service alone", async () => {
    const taken = await loggedIn(["login", `${api.url}/`, "--key", "-"], {}, { input: `${team.liveKey}\n` });
    assert.equal(taken.code, 0, taken.stderr);
    assert.match((await loggedIn(["usage"])).stdout, /units used/);
    assert.match((await loggedIn(["usage"], { RCPT_URL: api.url })).stdout, /units used/);
    const other = await loggedIn(["usage"], { RCPT_URL: "http://127.0.0.1:9" });
    assert.match(other.stderr, /^rcpt: no key for http:\/\/127\.0\.0\.1:9: rcpt login/);
    assert.match((await loggedIn(["open"])).stdout, new RegExp(`^${api.url}/\n$`));
    // The environment's comes first.
    const own = await loggedIn(["usage"], { RCPT_API_KEY: "rcpt_live_nobody" });
    assert.match(own.stderr, /\(unauthorized\)/);
    assert.equal((await loggedIn(["logout"])).stderr, "logged out\n");
    assert.equal((await api.send("GET", "/v1/team", { key: team.liveKey })).status, 200);
  });

  it("says what is wrong", async () => {
    const wrong: [string[], string, RegExp, number][] = [
      [["login", api.url, "--key", team.liveKey], "", /--key takes no key/, 2],
      [["login", api.url, "--key", "-"], "", /standard input is empty/, 2],
      [["login", api.url, "--key", "-"], "rcpt_live_wrong\n", /\(unauthorized\)/, 1],
      [
        ["login", api.url, "--key", "-"],
        "rcpt_live_a b\n",
        /^rcpt: the key has characters that no key has/,
        1,
      ],
      [["login", "http://u:p@127.0.0.1", "--key", "-"], team.liveKey, /must be a URL without a user/, 2],
      [["login", "mailto:x", "--key", "-"], team.liveKey, /is not a URL of a service/, 2],
      [["login", "--key", "-"], team.liveKey, /name the service/, 2],
      [["login", api.url], "", /this is no terminal: rcpt login --key -/, 2],
    ];
    for (const [args, input, says, exit] of wrong) {
      const { code, stderr } = await loggedIn(args, {}, { input });
      assert.match(stderr, says);
      assert.deepEqual([code, existsSync(profile())], [exit, false]);
    }
    await loggedIn(["login", api.url, "--key", "-"], {}, { input: team.liveKey });
    writeFileSync(profile(), "{");
    assert.match(
      (await loggedIn(["usage"])).stderr,
      /profile\.json is not a profile of rcpt: rcpt login writes a new one/,
    );
    assert.equal((await loggedIn(["login", api.url, "--key", "-"], {}, { input: team.liveKey })).code, 0);
  });

  it("says that the key of the login before could not be revoked", async () => {
    const before = { url: api.url, key: team.testKey, keyId: "key_of_before" };
    mkdirSync(join(folder, "rcpt"));
    writeFileSync(profile(), JSON.stringify(before));
    const { code, stderr } = await loggedIn(["login", api.url, "--key", "-"], {}, { input: team.liveKey });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^rcpt: warning: the key key_of_before of http.* is still good: /m);
  });

  it("leaves no key behind that it could not keep", async () => {
    await give(team.session, PASSWORD);
    const before = await keysOf();
    writeFileSync(join(folder, "rcpt"), "a file where the folder should be");
    const terminal = await login(team.ownerEmail, PASSWORD);
    assert.equal(await terminal.ended, 1);
    assert.match(terminal.screen(), /^rcpt: E\w+: /m);
    assert.deepEqual(await keysOf(), before);
  });

  it("ends on Ctrl-C, with nothing kept", async () => {
    const terminal = startRcptInTerminal(["login", api.url], { env: env({}) });
    await terminal.shows(/Email/);
    terminal.type("\u0003");
    assert.deepEqual([await terminal.ended, existsSync(profile())], [130, false]);
  });
});

describe("rcpt keys and rcpt team", () => {
  it("make a key that works, list it and revoke it", async () => {
    const made = await rcpt(["keys", "create", "import \u001b[2J", "--role", "member"]);
    assert.equal(made.code, 1);
    assert.match(made.stderr, /\(validation_failed\)/);
    const { stdout, stderr } = await rcpt(["keys", "create", "nightly import", "--role", "member"]);
    assert.match(stdout, /^rcpt_live_\w+\n$/);
    const [id = ""] = /^key_\w+/.exec(stderr) ?? [];
    assert.equal((await api.send("GET", "/v1/team", { key: stdout.trim() })).status, 200);
    const rows = (await rcpt(["keys"])).stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    assert.deepEqual(rows[0]?.slice(0, 4), [id, "nightly import", "live", "member"]);
    const [first] = (await rcpt(["keys", "list", "--json"])).stdout.split("\n");
    assert.equal(JSON.parse(first ?? "").id, id);
    assert.equal((await rcpt(["keys", "revoke", id])).stdout, `${id} revoked\n`);
    const again = await rcpt(["keys", "revoke", id]);
    assert.deepEqual([again.code, /\(not_found\)/.test(again.stderr)], [1, true]);
  });

  it("show columns on a terminal", async () => {
    const terminal = startRcptInTerminal(["keys"], {
      env: env({ RCPT_URL: api.url, RCPT_API_KEY: team.liveKey }),
    });
    assert.equal(await terminal.ended, 0);
    const [names = "", first = ""] = terminal.screen().split("\n");
    assert.match(names, /^ID +LABEL +ENV +ROLE +KEY +CREATED +LAST USED$/);
    assert.equal(first.indexOf("owner"), names.indexOf("ROLE"));
  });

  it("show the team and its members, and invite", async () => {
    assert.match(
      (await rcpt(["team"])).stdout,
      /^team \d+ \(team_\w+\)\ntier starter, you are owner, 1 member, since \d{4}-\d\d-\d\d\n$/,
    );
    const invited = await rcpt(["team", "invite", "new@example.com", "--role", "admin"]);
    assert.match(
      invited.stdout,
      /\/accept-invite#token=rcpt_inv_\w+&email=new%40example\.com(&team=\S+)?\n$/,
    );
    assert.match(invited.stderr, /^not mailed: hand the link on; good until /);
    assert.match(
      (await rcpt(["team", "members"])).stdout,
      new RegExp(`^usr_\\w+\t${team.ownerEmail}\towner\t`),
    );
  });
});

describe("rcpt blocklist", () => {
  it("blocks and unblocks domains, also many at once", async () => {
    assert.equal((await rcpt(["blocklist", "add", "Blocked.example"])).stdout, "blocked.example blocked\n");
    const input = "one.example # why\n\nblocked.example\nnot a domain\ntwo.example\n";
    const { code, stdout, stderr } = await rcpt(["blocklist", "import", "--no-subdomains"], { input });
    assert.equal(stdout, "2 blocked, 1 were before, 1 refused\n");
    assert.match(stderr, /^rcpt: not a domain: /);
    assert.equal(code, 1);
    assert.equal((await rcpt(["blocklist", "remove", "two.example"])).code, 0);
    const rows = (await rcpt(["blocklist"])).stdout.split("\n").map((line) => line.split("\t").slice(0, 2));
    assert.deepEqual(rows, [["blocked.example", "yes"], ["one.example", "no"], [""]]);
  });

  it("ends an import at what concerns it all", async () => {
    const run = await runRcpt(["blocklist", "import"], {
      input: "one.example\ntwo.example\n",
      env: env({ RCPT_URL: api.url, RCPT_API_KEY: team.testKey }),
    });
    assert.match(run.stderr, /\(live_credential_needed\)/);
    assert.deepEqual([run.code, run.stdout], [1, ""]);
  });
});

/** Pings once a second, of which an hour allows enough, until `look` returns true. */
function pingUntil(what: string, ping: () => Promise<unknown>, look: () => boolean): Promise<true> {
  let nextMs = 0;
  return until(what, async () => {
    if (performance.now() >= nextMs) {
      await ping();
      nextMs = performance.now() + 1_000;
    }
    return look();
  });
}

describe("rcpt webhooks", () => {
  it("says on a terminal that there are none", async () => {
    const url = { RCPT_URL: api.url, RCPT_API_KEY: team.liveKey };
    const terminal = startRcptInTerminal(["webhooks"], { env: env(url) });
    assert.equal(await terminal.ended, 0);
    assert.equal(terminal.screen().trim(), "none");
  });

  it("makes one, tests it, and says how it was answered", async () => {
    const receiver = await startReceiver();
    closing.after(() => receiver.close());
    const added = await rcpt(["webhooks", "add", receiver.url, "--events", "bulk.completed,ping"]);
    assert.match(added.stdout, /^whsec_\S+\n$/);
    const [id = ""] = /^wh_\w+/.exec(added.stderr) ?? [];
    const [row] = (await rcpt(["webhooks"])).stdout.split("\n");
    assert.deepEqual(row?.split("\t"), [id, "enabled", "live", "bulk.completed,ping", receiver.url]);
    const tested = await rcpt(["webhooks", "test", id]);
    assert.match(tested.stdout, /^evt_\w+ succeeded: answered 204 in \d+ ms\n$/);
    assert.equal(tested.code, 0);
    receiver.answer((_, response) => void response.writeHead(500).end());
    const failed = await rcpt(["webhooks", "test", id]);
    assert.match(failed.stdout, /^evt_\w+ pending: answered 500 in /);
    assert.equal(failed.code, 1);
    assert.equal((await rcpt(["webhooks", "remove", id])).stdout, `${id} removed\n`);
    assert.match(
      (await rcpt(["webhooks", "add", "x", "--events", "y"])).stderr,
      /--events names events: bulk\.completed, /,
    );
  });

  it("posts events to a program of this machine, signed, until Ctrl-C", async () => {
    const [there, here] = [await startReceiver(), await startReceiver()];
    closing.after(() => there.close());
    closing.after(() => here.close());
    const body = { url: there.url };
    const { id } = (await api.send<{ id: string }>("POST", "/v1/webhooks", { key: team.session, body })).body;
    const ping = () => api.send("POST", `/v1/webhooks/${id}/ping`, { key: team.session });
    await ping();
    const listening = startRcptInTerminal(["webhooks", "listen", "--forward-to", here.url], {
      env: env({ RCPT_URL: api.url, RCPT_API_KEY: team.liveKey }),
      columns: 200,
    });
    await listening.shows(/events go to http:\S+ until Ctrl-C/);
    const [secret = ""] = /whsec_\S+/.exec(listening.screen()) ?? [];
    // It must have looked once before: events from before its first look are not new to it.
    await pingUntil("it has looked", ping, () => here.received.length > 0);
    const [delivery] = here.received;
    const event = await webhooks.verify(delivery?.body ?? "", delivery?.headers ?? {}, secret);
    assert.equal(event.type, "ping");
    const sent = await until(
      "the service has delivered it too",
      () =>
        there.received.find((one) => one.headers["webhook-id"] === delivery?.headers["webhook-id"]) ?? null,
    );
    assert.equal(delivery?.body, sent.body);
    assert.equal(delivery?.headers["content-type"], sent.headers["content-type"]);
    await listening.shows(new RegExp(`ping ${event.id} -> 204`));
    listening.type("\u0003");
    assert.equal(await listening.ended, 0);
  });

  it("goes on listening while the service or the program is away", async () => {
    const gone = await startReceiver();
    await gone.close();
    const gate = await createTcpGate(api.url);
    closing.after(() => gate.close());
    const listening = startRcptInTerminal(
      ["webhooks", "listen", "--forward-to", gone.url, "--secret", `whsec_${"A".repeat(43)}=`],
      { env: env({ RCPT_URL: throughGate(api.url, gate), RCPT_API_KEY: team.liveKey }), columns: 200 },
    );
    await listening.shows(/until Ctrl-C/);
    const { id } = (
      await api.send<{ id: string }>("POST", "/v1/webhooks", { key: team.session, body: { url: gone.url } })
    ).body;
    const ping = () => api.send("POST", `/v1/webhooks/${id}/ping`, { key: team.session });
    await pingUntil("an event has no answer", ping, () => /-> no answer: /.test(listening.screen()));
    gate.shut();
    await listening.shows(/rcpt: The service cannot be reached.* Trying again\./);
    gate.open();
    await listening.shows(/rcpt: connected again/);
    listening.type("\u0003");
    assert.equal(await listening.ended, 0);
  });
});

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { doctorCommand } from "../../../src/operator/commands.ts";
import { createDoctor, type Doctor, fails, leftBehind } from "../../support/doctor.ts";
import { createDeployment, type Settings, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** A deployment is examined as it is, then with one fault at a time; no output has a secret. */
const GROUPS = [
  ...["configuration", "host", "http", "postgres", "redis", "objects", "secrets"],
  ...["deployment", "dns", "smtp", "mail", "billing", "collectors"],
];
const OTHER_KEY = Buffer.alloc(32, 9).toString("base64");

let deployment: TestDeployment;
let settings: Settings;
let doctor: Doctor;

before(async () => {
  deployment = await createDeployment();
  settings = { ...deployment.settings };
  doctor = createDoctor(settings);
  const { dns } = deployment.world;
  for (const [domain, host] of [
    ["gmail.com", "gmail-smtp-in.l.google.com"],
    ["outlook.com", "outlook-com.olc.protection.outlook.com"],
  ] as const) {
    dns.set(domain, { mx: [[5, host]] });
    dns.set(host, { a: [deployment.world.host("mx.multiline.test").address] });
  }
});
after(() => deployment.stop());

describe("a deployment that is well", () => {
  it("is in order, group by group, and nothing is left behind", async () => {
    const api = await deployment.startApi();
    await deployment.startBulk();
    await deployment.startRelay();
    const owner = await deployment.team("enterprise");
    const made = await api.send("POST", "/v1/webhooks", {
      key: owner.liveKey,
      body: { url: `${api.url}/hook` },
    });
    assert.equal(made.status, 201);
    const isTold = async () =>
      (await doctor.run({}, "--only", "deployment")).find("deployment", "egress")[0]?.state === "ok";
    await until("its processes have told of their ways", isTold, 120_000);
    const outcome = await doctor.run({});
    assert.deepEqual(outcome.failing, []);
    assert.deepEqual([outcome.code, outcome.ok], [0, true]);
    assert.deepEqual(
      outcome.groups.map(({ name }) => name),
      GROUPS,
    );
    for (const { name, findings } of outcome.groups) assert.notEqual(findings.length, 0, name);
    for (const [group, check] of [
      ["postgres", "migrations"],
      ["postgres", "rights"],
      ["redis", "eviction"],
      ["redis", "rights"],
      ["objects", "rights"],
      ["objects", "presigned URLs"],
      ["secrets", "SECRETS_KEY"],
      ["deployment", "api"],
      ["deployment", "bulk"],
      ["deployment", "relay"],
      ["smtp", "direct: port 25"],
    ] as const)
      assert.deepEqual(
        outcome.find(group, check).map(({ state }) => state),
        ["ok"],
        `${group} ${check}`,
      );
    assert.deepEqual(await leftBehind(settings), []);
  });

  it("is in order for a worker too, which has no key to secrets and no mail server", async () => {
    const worker = { ROLE: "bulk", SECRETS_KEY: "", SMTP_OUT_URL: "" };
    const outcome = await doctor.run(worker, "--only", "configuration,secrets,mail,deployment");
    assert.deepEqual(outcome.failing, []);
    for (const [group, check] of [
      ["secrets", "SECRETS_KEY"],
      ["mail", "SMTP_OUT_URL"],
    ] as const)
      assert.deepEqual(
        outcome.find(group, check).map(({ state }) => state),
        ["skipped"],
      );
    assert.deepEqual(outcome.find("configuration", "SECRETS_KEY"), []);
    assert.equal(outcome.find("deployment", "egress")[0]?.state, "ok");
  });

  it("is reported as text too", async () => {
    const { code, words } = await doctor.tell("--only", "postgres,billing");
    assert.equal(code, 0);
    assert.match(words, /^Postgres\n {2}ok {4}version +PostgreSQL \d+\.\d+\.\n/);
    assert.match(words, /\n\nbilling\n {2}- +Stripe/);
    assert.match(words, /\nNothing fails: \d+ in order, \d+ to look at, 0 failing, \d+ skipped\.\n$/);
  });
});

describe("settings that are wrong", () => {
  it("are all reported, with unknown variables that look like settings", async () => {
    const wrong = {
      DATABASE_URL: "",
      DATABSE_URL: settings.DATABASE_URL,
      PORT: "http",
      SMTP_HELO_NAME: "",
      SMTP_HELO: "probe.example.com",
      S3_ACCESS_KEY_ID: "",
      SCRATCH_DIR: "/nonexistent/scratch",
    };
    const outcome = await doctor.run(wrong, "--only", "configuration,host,postgres,secrets");
    fails(
      outcome,
      /^PORT: PORT must be a whole number/,
      /^DATABASE_URL: DATABASE_URL is required/,
      /^S3_ACCESS_KEY_ID: .* is required when its counterpart is set/,
      /^DATABSE_URL: DATABSE_URL is no setting: nobody reads it\. DATABASE_URL is one/,
      /^SMTP_HELO: SMTP_HELO is no setting.* SMTP_HELO_NAME is one/,
      /^scratch directory: \/nonexistent\/scratch cannot be written \(ENOENT/,
    );
    assert.deepEqual(outcome.find("postgres", "database")[0]?.state, "skipped");
  });

  it("end the command of the program with 1, with words on standard output alone", async () => {
    const run = promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "src/main.ts", "doctor", "--only", "configuration"],
      {
        env: {
          PATH: process.env.PATH,
          REDIS_URL: "redis://127.0.0.1:1",
          DATABSE_URL: "postgres://u:pw-of-nobody@h/d",
        },
      },
    );
    const error = (await run.then(
      () => assert.fail("exit 0"),
      (reason) => reason,
    )) as { code: number; stdout: string; stderr: string };
    assert.deepEqual([error.code, error.stderr], [1, ""]);
    assert.match(error.stdout, /FAIL +DATABASE_URL +DATABASE_URL is required\./);
    assert.match(error.stdout, /→ Rename it to DATABASE_URL/);
    assert.doesNotMatch(error.stdout, /pw-of-nobody/);
  });

  it("are no matter where the command is used wrongly", async () => {
    for (const argv of [["--only", "everything"], ["--timeout", "0"], ["--fast"], ["postgres"]]) {
      let output = "";
      const stderr = (text: string) => {
        output += text;
      };
      assert.equal(await doctorCommand({ argv, env: {}, stdout: assert.fail, stderr }), 2);
      assert.match(output, /^doctor: /);
    }
  });
});

describe("another SECRETS_KEY, or none", () => {
  it("does not open what is stored", async () => {
    fails(
      await doctor.run({ SECRETS_KEY: OTHER_KEY }, "--only", "secrets"),
      /does not open a webhook's secret/,
    );
    fails(
      await doctor.run({ SECRETS_KEY: "" }, "--only", "secrets"),
      /is not set, and a webhook's secret is stored/,
    );
  });
});

it("no secret was printed", () => doctor.assertDiscreet(OTHER_KEY));

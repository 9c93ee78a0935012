import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TIER_LIMITS } from "../../../src/config/tiers.ts";
import type { TeamReport } from "../../../src/features/teams/operations.ts";
import { runTeam, type TeamCommandOperations } from "../../../src/operator/team.ts";
import { capturePrinted } from "../../support/printed.ts";

const REPORT: TeamReport = {
  id: "team_1",
  name: "Evil\u001b[2J\u202e team",
  tier: "pro",
  operator: false,
  limits: { ...TIER_LIMITS.pro, dailyQuota: 7 },
  overrides: { dailyQuota: 7 },
  subscriptionId: "sub_1",
  createdAt: new Date(0),
  members: 2,
  keys: 3,
  owners: ["owner@example.com"],
  grants: [{ bucket: "imports", prefix: "acme/" }],
};

async function run(...argv: string[]) {
  const asked: unknown[][] = [];
  const { printed, ...output } = capturePrinted();
  const record =
    (verb: string) =>
    async (...args: unknown[]) => {
      asked.push([verb, ...args]);
      return REPORT;
    };
  const operations: TeamCommandOperations = {
    show: record("show"),
    setTier: record("setTier"),
    setLimit: record("setLimit"),
    setOperator: record("setOperator"),
    grantS3: record("grantS3"),
    revokeS3: record("revokeS3"),
    async resetLink(email) {
      asked.push(["resetLink", email]);
      return { token: "rcpt_pwr_x", link: "https://rcpt.example/reset-password#token=rcpt_pwr_x" };
    },
    async *pages() {
      yield [REPORT];
      yield [{ ...REPORT, id: "team_2", name: "Two" }];
    },
  };
  const code = await runTeam({
    argv,
    withTeamOperations: (work) => work(operations),
    ...output,
  });
  return { code, ...printed, asked };
}

describe("the command team", () => {
  const understood: [string[], unknown[]][] = [
    [
      ["show", "team_1"],
      ["show", "team_1"],
    ],
    [
      ["set-tier", "a@b.example", "pro_plus"],
      ["setTier", "a@b.example", "pro_plus"],
    ],
    [
      ["set-limit", "team_1", "daily_quota", "0"],
      ["setLimit", "team_1", { name: "dailyQuota", value: 0 }],
    ],
    [
      ["set-limit", "team_1", "rate_per_s", "100000"],
      ["setLimit", "team_1", { name: "ratePerS", value: 100_000 }],
    ],
    [
      ["set-limit", "team_1", "reads_per_s", "40"],
      ["setLimit", "team_1", { name: "readsPerS", value: 40 }],
    ],
    [
      ["set-limit", "team_1", "writes_burst", "default"],
      ["setLimit", "team_1", { name: "writesBurst", value: null }],
    ],
    [
      ["set-limit", "team_1", "probing", "true"],
      ["setLimit", "team_1", { name: "probing", value: true }],
    ],
    [
      ["set-operator", "team_1", "true"],
      ["setOperator", "team_1", true],
    ],
    [
      ["set-limit", "team_1", "bulk_bytes", "default"],
      ["setLimit", "team_1", { name: "bulkBytes", value: null }],
    ],
    [
      ["grant-s3", "team_1", "s3://imports/acme/2026"],
      ["grantS3", "team_1", { bucket: "imports", prefix: "acme/2026/" }],
    ],
    [
      ["grant-s3", "team_1", "s3://imports"],
      ["grantS3", "team_1", { bucket: "imports", prefix: "" }],
    ],
    [
      ["revoke-s3", "team_1", "s3://imports/"],
      ["revokeS3", "team_1", { bucket: "imports", prefix: "" }],
    ],
    [
      ["reset-link", "someone@M\u00fcnchen.example"],
      ["resetLink", "someone@xn--mnchen-3ya.example"],
    ],
  ];
  for (const [argv, call] of understood)
    it(`understands ${argv.join(" ")}`, async () => {
      const { code, asked, stderr } = await run(...argv);
      assert.deepEqual([code, asked, stderr], [0, [call], ""]);
    });

  const wrong = [
    [],
    ["nonsense"],
    ["constructor"],
    ["show"],
    ["show", ""],
    ["show", "a\u0000b"],
    ["show", "team_1", "surplus"],
    ["list", "team_1"],
    ["show", "team_1", "--nonsense"],
    ["reset-link"],
    ["reset-link", "team_1"],
    ["reset-link", "a@b.example", "surplus"],
    ["set-tier", "team_1"],
    ["set-tier", "team_1", "gold"],
    ["set-operator", "team_1", "yes"],
    ["set-limit", "team_1", "daily_quota"],
    ["set-limit", "team_1", "dailyQuota", "1"],
    ["set-limit", "team_1", "constructor", "1"],
    ["set-limit", "team_1", "daily_quota", "-1"],
    ["set-limit", "team_1", "daily_quota", "1.5"],
    ["set-limit", "team_1", "daily_quota", "1e3"],
    ["set-limit", "team_1", "daily_quota", "10000000001"],
    ["set-limit", "team_1", "daily_quota", "true"],
    ["set-limit", "team_1", "rate_burst", "0"],
    ["set-limit", "team_1", "history_days", "366"],
    ["set-limit", "team_1", "probing", "1"],
    ["grant-s3", "team_1", "imports/acme"],
    ["grant-s3", "team_1", "s3://"],
    ["grant-s3", "team_1", "s3://UPPER/x"],
    ["grant-s3", "team_1", "s3://../x"],
    ["grant-s3", "team_1", `s3://imports/${"x".repeat(1_024)}`],
    ["grant-s3", "team_1", "s3://imports/a\nb"],
  ];
  for (const argv of wrong)
    it(`answers ${JSON.stringify(argv).slice(0, 80)} with one line and exit code 2`, async () => {
      const { code, stdout, stderr, asked } = await run(...argv);
      assert.deepEqual([code, stdout, asked], [2, "", []]);
      assert.match(stderr, /^team: [^\n]+\n$/);
    });

  it("prints the team as it is now, nothing of it as the terminal's commands", async () => {
    const { stdout } = await run("show", "team_1");
    for (const line of [
      "team          team_1",
      "daily_quota   7 (override)",
      "rate_per_s    50",
      "subscription  sub_1 (its next change sets the tier)",
      's3 grant      "s3://imports/acme/"',
    ])
      assert.ok(stdout.split("\n").includes(line), `${line}\n${stdout}`);
    assert.doesNotMatch(stdout.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
  });

  it("prints one JSON object a team with --json", async () => {
    const { stdout } = await run("set-tier", "team_1", "pro", "--json");
    const { limits, ...rest } = JSON.parse(stdout);
    assert.equal(limits.daily_quota, 7);
    assert.deepEqual(rest, {
      id: "team_1",
      name: REPORT.name,
      tier: "pro",
      operator: false,
      owners: ["owner@example.com"],
      members: 2,
      keys: 3,
      subscription: "sub_1",
      created_at: "1970-01-01T00:00:00.000Z",
      overrides: { daily_quota: 7 },
      s3_grants: ["s3://imports/acme/"],
    });
    const listed = (await run("list", "--json")).stdout.trimEnd().split("\n");
    assert.deepEqual(
      listed.map((line) => JSON.parse(line).id),
      ["team_1", "team_2"],
    );
  });

  it("prints a link and its token, or both as one JSON object", async () => {
    const link = "https://rcpt.example/reset-password#token=rcpt_pwr_x";
    const { stdout } = await run("reset-link", "a@b.example");
    assert.deepEqual(stdout.split("\n").slice(0, 2), [`link          ${link}`, "token         rcpt_pwr_x"]);
    assert.match(stdout, /within 60 minutes/);
    const json = JSON.parse((await run("reset-link", "a@b.example", "--json")).stdout);
    assert.deepEqual(json, { link, token: "rcpt_pwr_x", expires_in_s: 3_600 });
  });

  it("lists a team a line", async () => {
    const { code, stdout } = await run("list");
    assert.equal(code, 0);
    assert.equal(stdout.split("\n").length, 3);
    assert.ok(stdout.includes('team_2  pro         "Two"  "owner@example.com"\n'), stdout);
    assert.doesNotMatch(stdout.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isGranted } from "../../../../../src/features/bulk/submit/grant-check.ts";

const GRANTS = [
  { bucket: "acme-lists", prefix: "in/" },
  { bucket: "acme-all", prefix: "" },
  // As if the operator's command had not refused it.
  { bucket: "rcpt", prefix: "" },
];
const OWN = "rcpt";

describe("an object of a granted bucket", () => {
  const allowed = [
    ["acme-lists", "in/a.csv"],
    ["acme-lists", "in/2026/ä b.csv"],
    ["acme-all", "anything"],
    ["acme-all", "..a/b..csv"],
  ] as const;
  for (const [bucket, key] of allowed)
    it(`may be read: ${bucket}/${key}`, () => assert.ok(isGranted(GRANTS, { bucket, key }, OWN)));

  const refused = [
    ["acme-lists", "in"],
    ["acme-lists", "inbox/a.csv"],
    ["acme-lists", "/in/a.csv"],
    ["acme-lists", "in/../out/a.csv"],
    ["acme-lists", "in/./a.csv"],
    ["acme-lists", "in/.."],
    ["acme-all", "..\\x"],
    ["acme-archive", "in/a.csv"],
    ["ACME-LISTS", "in/a.csv"],
    ["rcpt", "teams/team_1/jobs/job_1/source"],
    ["RCPT", "teams/team_1/jobs/job_1/source"],
    ["acme-all/../rcpt", "teams/x"],
    ["rcpt/teams", "x"],
    ["arn:aws:s3:eu-west-1:1:accesspoint/rcpt", "teams/x"],
    ["", "in/a.csv"],
  ] as const;
  for (const [bucket, key] of refused)
    it(`may not be read: ${bucket}/${key}`, () => assert.ok(!isGranted(GRANTS, { bucket, key }, OWN)));

  it("may not be read without a grant", () =>
    assert.ok(!isGranted([], { bucket: "acme-lists", key: "in/a.csv" }, OWN)));
});

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { testLog, testLogLevel } from "../../support/log.ts";

it("what is logged in tests reaches the folder that is looked through for secrets afterwards", () => {
  const folder = process.env.RCPT_TEST_LOGS ?? assert.fail("run this file through npm test");
  assert.equal(testLogLevel, "trace");
  testLog.trace({ marker: "of the finest level" }, "a line");
  const own = readdirSync(folder).filter((name) => name.endsWith(`-${process.pid}.jsonl`));
  assert.equal(own.length, 1);
  assert.match(readFileSync(join(folder, own[0] ?? ""), "utf8"), /"marker":"of the finest level"/);
});

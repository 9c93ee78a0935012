import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startOf } from "../../../../scripts/processes.mjs";
import { takeLock } from "../../../../scripts/start/lock.ts";

const folder = mkdtempSync(join(tmpdir(), "rcpt-lock-"));
after(() => rmSync(folder, { recursive: true }));
const say = () => assert.fail("nothing to wait for");
const mine = { pid: process.pid, start: startOf(process.pid) };

test("a free lock is taken, a held one names its holder", async () => {
  const file = join(folder, "held");
  await takeLock(file, process.pid, say);
  assert.equal(JSON.parse(readFileSync(file, "utf8")).pid, process.pid);
  await assert.rejects(takeLock(file, process.pid, say), new RegExp(`already \\(process ${process.pid}\\)`));
});

test("a lock of a dead process, of a pid that is used again, or of no sense is taken over", async () => {
  const dead = { guardPid: 999_999_999, guardStart: "1" };
  for (const [i, text] of [
    JSON.stringify({ pid: 999_999_999, start: "1", ...dead }),
    JSON.stringify({ pid: process.pid, start: "not mine", ...dead }),
    "",
    "{",
  ].entries()) {
    const file = join(folder, `stale${i}`);
    writeFileSync(file, text);
    await takeLock(file, process.pid, say);
    const { pid, start } = JSON.parse(readFileSync(file, "utf8"));
    assert.deepEqual({ pid, start }, mine);
  }
});

test("of many who take over a stale lock one gets it", async () => {
  const file = join(folder, "rivals");
  writeFileSync(
    file,
    JSON.stringify({ pid: 999_999_999, start: "1", guardPid: 999_999_999, guardStart: "1" }),
  );
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, () => takeLock(file, process.pid, say)),
  );
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
});

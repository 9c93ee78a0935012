import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { withLockFile } from "../../../../scripts/run/lock-file.mjs";

const folder = mkdtempSync(join(tmpdir(), "rcpt-lock-"));
after(() => rmSync(folder, { recursive: true }));

describe("a lock file", () => {
  it("lets one run at a time install, in a folder that it makes", async () => {
    const file = join(folder, "new/install.lock");
    const steps: string[] = [];
    const waited: number[] = [];
    const run = (name: string) =>
      withLockFile(
        file,
        (pid) => void waited.push(pid),
        async () => {
          steps.push(`${name} begins`);
          await new Promise((resolve) => setTimeout(resolve, 1));
          steps.push(`${name} ends`);
        },
      );
    await Promise.all([run("a"), run("b")]);
    assert.deepEqual(steps, ["a begins", "a ends", "b begins", "b ends"]);
    assert.deepEqual(waited, [process.pid]);
    assert.equal(existsSync(file), false);
  });

  it("is given back by one that fails", async () => {
    const file = join(folder, "failing.lock");
    const fail = async () => {
      throw new Error("no");
    };
    await assert.rejects(
      withLockFile(file, () => {}, fail),
      /no/,
    );
    assert.equal(existsSync(file), false);
  });

  for (const [whose, text] of [
    ["a process that has ended", '{"pid":1,"start":"another"}'],
    ["a process that cannot be read from it", "{"],
  ] as const)
    it(`of ${whose} is taken over`, async () => {
      const file = join(folder, "stale.lock");
      writeFileSync(file, text);
      const work = async () => "installed";
      assert.equal(await withLockFile(file, () => assert.fail("nobody is waited for"), work), "installed");
    });
});

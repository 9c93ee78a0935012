import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createScratch, ScratchFull } from "../../../src/stores/scratch.ts";
import { createTestScratch } from "../../support/scratch.ts";

const scratch = createTestScratch();
after(() => scratch.remove());

describe("a scratch file", () => {
  it("gives back what was written where it was written", async () => {
    const file = scratch.open(1_000_000);
    const parts = [randomBytes(10_000), randomBytes(1), randomBytes(20_000)];
    await file.write(parts, 5);
    const into = Buffer.alloc(30_001);
    await file.read(into, 5);
    assert.ok(into.equals(Buffer.concat(parts)));
    const now = Buffer.alloc(100);
    file.readNow(now, 5);
    assert.ok(now.equals(into.subarray(0, 100)));
    await file.close();
  });

  it("takes more parts than the system takes at once", async () => {
    const file = scratch.open(1_000_000);
    const parts = Array.from({ length: 3_000 }, (_, i) => Buffer.from([i % 256, i >> 8]));
    await file.write(parts, 0);
    const into = Buffer.alloc(6_000);
    await file.read(into, 0);
    assert.ok(into.equals(Buffer.concat(parts)));
    await file.close();
  });

  it("has no name, so that nothing is left of it when its process is killed", async () => {
    const file = scratch.open(100);
    assert.deepEqual(scratch.names(), []);
    if (scratch.openFiles() !== null) assert.equal(scratch.openFiles(), 1);
    await file.close();
    if (scratch.openFiles() !== null) assert.equal(scratch.openFiles(), 0);
  });

  it("is not longer than its bound", async () => {
    const file = scratch.open(100);
    await file.write([Buffer.alloc(60), Buffer.alloc(40)], 0);
    const full = (error: unknown) =>
      error instanceof ScratchFull && !error.disk && /100 bytes/.test(error.message);
    await assert.rejects(file.write([Buffer.alloc(1)], 100), full);
    await file.close();
  });

  it("has of what all may have together no more than is left, until others are closed", async () => {
    const limited = createScratch(scratch.directory, 100);
    const [one, other] = [limited.open(1_000), limited.open(1_000)];
    await one.write([Buffer.alloc(70)], 0);
    // Overwriting takes no more space.
    await one.write([Buffer.alloc(30)], 40);
    const full = (error: unknown) =>
      error instanceof ScratchFull &&
      error.disk &&
      /of this process are limited to 100 bytes/.test(error.message);
    await assert.rejects(other.write([Buffer.alloc(31)], 0), full);
    await other.write([Buffer.alloc(30)], 0);
    await one.close();
    await one.close();
    await other.write([Buffer.alloc(70)], 30);
    await assert.rejects(other.write([Buffer.alloc(1)], 100), full);
    await other.close();
  });

  it("ends where nothing was written", async () => {
    const file = scratch.open(100);
    await file.write([Buffer.alloc(50)], 0);
    await assert.rejects(file.read(Buffer.alloc(51), 0), /ends too early/);
    assert.throws(() => file.readNow(Buffer.alloc(1), 50), /ends too early/);
    await file.close();
  });

  it("waits with its closing for what is under way, and takes nothing more", async () => {
    const file = scratch.open(10_000_000);
    const written = file.write([randomBytes(5_000_000)], 0);
    const closed = Promise.all([file.close(), file.close()]);
    await assert.rejects(file.write([Buffer.alloc(1)], 0), /closed/);
    await assert.rejects(file.read(Buffer.alloc(1), 0), /closed/);
    assert.throws(() => file.readNow(Buffer.alloc(1), 0), /closed/);
    await written;
    await closed;
  });

  it("cannot be made in a directory that is none, and says where", () => {
    const missing = join(scratch.directory, "missing");
    assert.throws(() => createScratch(missing).open(1), /missing \(SCRATCH_DIR\): ENOENT/);
  });

  it("says so when the disk has no room", () => {
    // A file of a process may have 4 MiB here: the system's refusal that can be had without filling a disk.
    const script = `
      import { createScratch, ScratchFull } from ${JSON.stringify(new URL("../../../src/stores/scratch.ts", import.meta.url).href)};
      const file = createScratch(process.argv[1]).open(2 ** 30);
      await file.write([Buffer.alloc(1_048_576)], 0);
      const error = await file.write([Buffer.alloc(5_242_880)], 0).catch((refused) => refused);
      process.stdout.write(JSON.stringify([error instanceof ScratchFull, error.disk, error.message]));
    `;
    const node = [
      process.execPath,
      "--import",
      "tsx",
      "--input-type=module",
      "-e",
      script,
      scratch.directory,
    ];
    const run = spawnSync("bash", ["-c", 'ulimit -f 4096 && exec "$0" "$@"', ...node], { encoding: "utf8" });
    assert.equal(run.status, 0, run.stderr);
    const message = `no space is left in ${scratch.directory} (SCRATCH_DIR)`;
    assert.deepEqual(JSON.parse(run.stdout), [true, true, message]);
  });
});

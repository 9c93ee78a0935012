import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { loadLists, packLists, unpackLists } from "../../../../src/verification/lists/built.ts";
import { compileLists, type SharedLists } from "../../../../src/verification/lists/lists.ts";

/** The packed lists of a build give the same tables to the byte; any other file is refused. */
const folder = mkdtempSync(join(tmpdir(), "rcpt-lists-"));
after(() => rmSync(folder, { recursive: true }));

const compiled = compileLists();
const bytesOf = ({ disposable, role, free }: SharedLists) =>
  [disposable, role, free]
    .flatMap(({ words, labels }) => [words, labels])
    .map((memory) => {
      assert.ok(memory instanceof SharedArrayBuffer);
      return Buffer.from(memory);
    });

function fileOf(content: Buffer): string {
  const file = join(folder, "lists.bin");
  writeFileSync(file, content);
  return file;
}

describe("lists of a build", () => {
  it("are those that were compiled, in shared memory", () => {
    assert.deepEqual(bytesOf(loadLists(fileOf(packLists(compiled)))), bytesOf(compiled));
  });

  it("are compiled where there is no build", () => {
    assert.deepEqual(bytesOf(loadLists(join(folder, "absent"))), bytesOf(compiled));
  });

  it("are refused by the name of their file where it is damaged", () => {
    const whole = packLists(compiled);
    const cut = whole.subarray(0, whole.length / 2);
    const torn = packLists({
      ...compiled,
      role: { words: compiled.role.words, labels: compiled.free.labels },
    });
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(100_000) ^ 1, 100_000);
    for (const bad of [Buffer.alloc(0), Buffer.from("lists"), cut, torn, flipped])
      assert.throws(() => loadLists(fileOf(bad)), /lists\.bin is not what npm run build wrote: build anew/);
    const empty = new SharedArrayBuffer(0);
    const role = { words: empty, labels: empty };
    assert.throws(() => unpackLists(packLists({ ...compiled, role })), /bytes/);
  });
});

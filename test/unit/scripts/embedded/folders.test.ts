import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { distributionName } from "../../../../scripts/embedded/debian-package.ts";
import { folderOutside } from "../../../../scripts/embedded/reachable.ts";

test("a folder outside is stored; when it is missing, that is reported, and another one made", (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "rcpt-folders-"));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const said: string[] = [];
  const open = () => {
    const folder = folderOutside(dataDir, (line) => said.push(line));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  };
  const first = open();
  assert.equal(open(), first);
  assert.equal(said.length, 0);
  rmSync(first, { recursive: true });
  const second = open();
  assert.ok(second !== first && existsSync(second));
  assert.equal(said.length, 1);
  assert.ok(said[0]?.includes(first) && /gone.*anew/.test(said[0]), said[0]);
  assert.equal(open(), second, "the new one is remembered");
});

test("what is unpacked belongs to one version of one distribution", () => {
  const names = [
    'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
    'ID=debian\nVERSION_ID="13"\n',
    'ID=ubuntu\nVERSION_ID="24.04"\n',
    "ID=debian\nVERSION_CODENAME=forky\n",
    "ID=../x\n",
    "",
  ].map(distributionName);
  assert.deepEqual(names, [
    "debian-12",
    "debian-13",
    "ubuntu-24.04",
    "debian-forky",
    ".._x-rolling",
    "linux-rolling",
  ]);
});

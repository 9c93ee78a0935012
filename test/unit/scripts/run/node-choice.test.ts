import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  type Choice,
  chooseNode,
  RELEASES,
  SERVER_BINARIES,
  type System,
  thisSystem,
} from "../../../../scripts/run/node-choice.mjs";

const PACKAGE = join(import.meta.dirname, "../../../../node_modules/uWebSockets.js");

const debian12: System = { version: "20.20.2", abi: "115", platform: "linux", arch: "x64", glibc: "2.36" };
const debian13: System = { ...debian12, glibc: "2.41" };
const node22 = { version: "22.23.3", abi: "127" };
const node24 = { version: "24.21.0", abi: "137" };
const node26 = { version: "26.12.1", abi: "147" };
const macOs = { platform: "darwin", arch: "arm64", glibc: null };

function said(choice: Choice): string {
  if (choice.use === "release") return choice.release.version.split(".")[0] ?? "";
  return choice.use;
}

const table: [string, System, string][] = [
  ["Node.js 20 on Debian 12", debian12, "this"],
  ["Node.js 22 on Debian 12", { ...debian12, ...node22 }, "20"],
  ["Node.js 24 on Debian 12", { ...debian12, ...node24 }, "20"],
  ["Node.js 26 on Debian 12", { ...debian12, ...node26 }, "20"],
  ["Node.js 20 on Debian 13", debian13, "this"],
  ["Node.js 22 on Debian 13", { ...debian13, ...node22 }, "this"],
  ["Node.js 24 on Debian 13", { ...debian13, ...node24 }, "this"],
  ["Node.js 26 on Debian 13", { ...debian13, ...node26 }, "24"],
  ["Node.js 26 on arm64", { ...debian13, ...node26, arch: "arm64" }, "24"],
  ["the oldest glibc of 24", { ...debian13, ...node26, glibc: "2.38" }, "24"],
  ["one older than that", { ...debian13, ...node26, glibc: "2.37" }, "20"],
  ["a glibc of two digits less in text order", { ...debian13, ...node24, glibc: "2.4" }, "none"],
  ["a glibc 3", { ...debian13, ...node24, glibc: "3.0" }, "this"],
  ["the oldest glibc of 20", { ...debian12, ...node22, glibc: "2.28" }, "20"],
  ["one older than that", { ...debian12, ...node22, glibc: "2.27" }, "none"],
  ["no glibc", { ...debian13, ...node24, glibc: null }, "none"],
  ["another processor", { ...debian13, ...node24, arch: "riscv64" }, "none"],
  ["macOS", { ...macOs, ...node24 }, "this"],
  ["macOS with a Node.js too new", { ...macOs, ...node26 }, "none"],
];
for (const [what, system, expected] of table)
  test(`${what}: ${expected}`, () => assert.equal(said(chooseNode(system)), expected));

test("each refusal says why and what to do, in a line each", () => {
  const of = (system: System) => chooseNode(system);
  assert.deepEqual(of({ ...debian13, ...node26 }), {
    use: "release",
    release: RELEASES[0],
    why: "there is no server for Node.js 26.12.1",
  });
  const why = "the server for Node.js 24 needs glibc 2.38, this system has 2.36";
  assert.deepEqual(of({ ...debian12, ...node24 }), { use: "release", release: RELEASES[1], why });
  assert.deepEqual(of({ ...macOs, ...node26 }), {
    use: "none",
    why: "there is no server for Node.js 26.12.1",
    remedy: "Install Node.js 24, or 22.",
  });
});

test("the Node.js that runs this can load the server, or this test would not run", () => {
  assert.deepEqual(chooseNode(thisSystem()), { use: "this" });
});

/** The newest glibc that a binary asks for, by the versions of symbols in it. */
function glibcOf(file: string): number {
  const versions = readFileSync(join(PACKAGE, file), "latin1").matchAll(/GLIBC_2\.(\d+)\0/g);
  return Math.max(...[...versions].map(([, minor]) => Number(minor)));
}

test("the table is what the package holds", () => {
  const files = readdirSync(PACKAGE);
  for (const [abi, { glibc }] of SERVER_BINARIES) {
    for (const arch of ["x64", "arm64"]) {
      const file = `uws_linux_${arch}_${abi}.node`;
      assert.ok(files.includes(file), file);
      assert.ok(glibcOf(file) <= Number(glibc.split(".")[1]), `${file} needs glibc 2.${glibcOf(file)}`);
      assert.ok(files.includes(`uws_darwin_${arch}_${abi}.node`), `macOS ${arch}, ${abi}`);
    }
    assert.ok(files.includes(`uws_win32_x64_${abi}.node`), `Windows, ${abi}`);
  }
  assert.ok(!files.includes("uws_linux_x64_147.node"), "Node.js 26 has a binary: put it into the table");
});

test("what is fetched can load the server with the glibc it is chosen for", () => {
  for (const { version, glibc, integrity } of RELEASES) {
    const binary = [...SERVER_BINARIES.values()].find(({ node }) => version.startsWith(`${node}.`));
    assert.ok(Number(glibc.split(".")[1]) >= Number(binary?.glibc.split(".")[1]), version);
    for (const hash of Object.values(integrity)) assert.match(hash, /^sha512-[\w+/]{86}==$/);
  }
});

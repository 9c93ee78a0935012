// Alone in its process: it changes the environment.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { RELEASES } from "../../../../scripts/run/node-choice.mjs";
import { fetchNode } from "../../../../scripts/run/node-release.mjs";

const home = mkdtempSync(join(tmpdir(), "rcpt-node-release-"));
after(() => rmSync(home, { recursive: true, force: true }));
const npm = join(home, "npm.js");
const calls = join(home, "calls");
process.env.npm_execpath = npm;

const [release] = RELEASES;
assert.ok(release);
const name = `node-linux-${process.arch}`;
let cacheDir = "";
let said: string[] = [];

beforeEach((context) => {
  cacheDir = join(home, context.name.replaceAll(/\W/g, "-"));
  said = [];
  rmSync(calls, { force: true });
});

/** Puts an npm in place that unpacks a Node.js that prints `version`, or does `instead`. */
function prepareNpm(version: string, instead = ""): void {
  const script = `
    const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs");
    appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(" ") + "\\n");
    ${instead}
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
    const [path] = Object.keys(packages).filter((each) => each !== "");
    mkdirSync(path + "/bin", { recursive: true });
    writeFileSync(path + "/LICENSE", JSON.stringify(packages[path]));
    writeFileSync(path + "/bin/node", "#!/bin/sh\\necho ${version}\\n", { mode: 0o755 });`;
  writeFileSync(npm, script);
}

const options = () => ({ cacheDir, say: (line: string) => void said.push(line), onChild: () => {} });
const fetched = () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []);

test("is fetched by its hash the first time, and found the next", async () => {
  prepareNpm(release.version);
  const binary = await fetchNode(release, options());
  assert.equal(binary, join(cacheDir, `${name}-${release.version}/bin/node`));
  assert.ok(existsSync(binary));
  const entry = JSON.parse(readFileSync(join(binary, "../../LICENSE"), "utf8"));
  const integrity = process.arch === "arm64" ? release.integrity.arm64 : release.integrity.x64;
  assert.deepEqual(entry, { version: release.version, integrity });
  assert.equal(await fetchNode(release, options()), binary);
  assert.deepEqual(fetched(), ["ci --ignore-scripts --no-audit --no-fund --loglevel=error"]);
  assert.equal(said.length, 1);
  assert.deepEqual(readdirSync(cacheDir), [`${name}-${release.version}`]);
});

test("what npm refuses is reported without the registry, and leaves nothing", async () => {
  prepareNpm("", `console.error("EINTEGRITY https://registry.test/x wanted sha512-a"); process.exit(7);`);
  await assert.rejects(fetchNode(release, options()), (error: Error & { outcome?: unknown }) => {
    assert.match(error.message, /^EINTEGRITY <registry> wanted sha512-a\nnpm could not fetch Node\.js 24\./);
    assert.equal(error.outcome, 7);
    return true;
  });
  assert.deepEqual(readdirSync(cacheDir), []);
});

test("a binary of another version, or one that does not run, is not kept", async () => {
  prepareNpm("18.0.0");
  await assert.rejects(fetchNode(release, options()), /was fetched and does not run here/);
  prepareNpm("1; echo no such library >&2; exit 127");
  await assert.rejects(fetchNode(release, options()), /does not run here: no such library/);
  assert.deepEqual(readdirSync(cacheDir), []);
});

test("what another run has put there meanwhile is used", async () => {
  const folder = join(cacheDir, `${name}-${release.version}`);
  prepareNpm(
    release.version,
    `mkdirSync(${JSON.stringify(join(folder, "bin"))}, { recursive: true });
     writeFileSync(${JSON.stringify(join(folder, "bin/node"))}, "theirs");`,
  );
  const binary = await fetchNode(release, options());
  assert.equal(readFileSync(binary, "utf8"), "theirs");
  assert.deepEqual(readdirSync(cacheDir), [`${name}-${release.version}`]);
});

test("what a killed fetch left is removed once it is old, one under way is not", async () => {
  prepareNpm(release.version);
  const old = `${name}-${release.version}.11`;
  const underWay = `${name}-${release.version}.12`;
  for (const folder of [old, underWay, "redis.11"]) mkdirSync(join(cacheDir, folder), { recursive: true });
  for (const folder of [old, "redis.11"]) utimesSync(join(cacheDir, folder), 1, 1);
  await fetchNode(release, options());
  assert.deepEqual(readdirSync(cacheDir).sort(), [`${name}-${release.version}`, underWay, "redis.11"]);
});

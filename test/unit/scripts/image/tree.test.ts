import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { readBase } from "../../../../scripts/image/base.ts";
import { FROM_NODE_MODULES } from "../../../../scripts/image/bundle.ts";
import { renderLicenses } from "../../../../scripts/image/licenses.ts";
import { choosePackages, type Lock } from "../../../../scripts/image/packages.ts";
import { ADDED_BYTES_MAX, assembleTree } from "../../../../scripts/image/tree.ts";

const TARGET = { platform: "linux", arch: "x64", abi: "137" };
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A project in which every package that is read is there, `piscina` with an optional part that is of another system. */
function project(files: Record<string, string> = {}): { root: string; lock: Lock } {
  const root = mkdtempSync(join(tmpdir(), "rcpt-tree-"));
  folders.push(root);
  const places: Record<string, object> = Object.fromEntries(
    FROM_NODE_MODULES.map((name) => [`node_modules/${name}`, { version: "1.0.0", license: "MIT" }]),
  );
  places["node_modules/pino"] = {
    version: "2.0.0",
    license: "MIT",
    dependencies: { inner: "1", shared: "1" },
  };
  places["node_modules/pino/node_modules/inner"] = {
    version: "3.0.0",
    license: "ISC",
    dependencies: { shared: "1" },
  };
  places["node_modules/shared"] = { version: "4.0.0", license: "BSD-2-Clause" };
  places["node_modules/inner"] = { version: "9.0.0", dev: true };
  places["node_modules/piscina"] = { optionalDependencies: { "other-system": "1" } };
  places["node_modules/other-system"] = { version: "1.0.0" };
  places["node_modules/swagger-ui-dist"] = { dependencies: { tracker: "1" } };
  places["node_modules/tracker"] = { version: "1.0.0" };
  const there = Object.keys(places).filter((place) => !place.endsWith("other-system"));
  const written: Record<string, string> = {
    ...Object.fromEntries(there.map((place) => [`${place}/package.json`, "{}"])),
    "package.json": JSON.stringify({
      name: "x",
      version: "1.2.3",
      license: "MIT",
      type: "module",
      dependencies: { pino: "2.0.0" },
    }),
    "package-lock.json": JSON.stringify({ packages: places }),
    "dist/src/main.js": "",
    "dist/src/chunks/lists.bin": "",
    "node_modules/pino/LICENSE": "Permission is granted by pino.",
    ...files,
  };
  for (const [path, text] of Object.entries(written)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { root, lock: places as Lock };
}

/** Files that are read of the trimmed packages. */
const READ = Object.fromEntries(
  [
    ...[
      "uWebSockets.js/uws.js",
      "uWebSockets.js/uws_linux_x64_137.node",
      "uWebSockets.js/uws_linux_x64_115.node",
    ],
    ...["uWebSockets.js/LICENSE", "swagger-ui-dist/swagger-ui-bundle.js", "swagger-ui-dist/swagger-ui.css"],
    ...["swagger-ui-dist/favicon-32x32.png", "swagger-ui-dist/LICENSE", "swagger-ui-dist/NOTICE"],
    ...["swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt", "swagger-ui-dist/swagger-ui.js"],
  ].map((path) => [`node_modules/${path}`, "x"]),
);
const OWN = Object.fromEntries(
  ["LICENSE", "THIRD_PARTY_NOTICES.md", "scripts/image/health.mjs"].map((path) => [path, "x"]),
);

describe("the packages of the image", () => {
  it("are those that are read, and what they need as it is found from there", () => {
    const { root, lock } = project();
    const places = choosePackages(root, lock, TARGET).map(({ place }) => place);
    assert.ok(places.includes("node_modules/pino/node_modules/inner"));
    assert.ok(places.includes("node_modules/shared"));
    assert.ok(!places.includes("node_modules/inner"), "nobody finds the outer one");
    assert.ok(!places.includes("node_modules/other-system"), "it is not installed here");
    assert.ok(!places.includes("node_modules/tracker"), "of a trimmed package nothing else runs");
  });

  it("are missed when they are not there", () => {
    const { root, lock } = project();
    rmSync(join(root, "node_modules/shared"), { recursive: true });
    assert.throws(() => choosePackages(root, lock, TARGET), /shared is not installed/);
  });

  it("have their licences listed, those of the bundle too", () => {
    const { root, lock } = project();
    const text = renderLicenses(root, lock);
    assert.match(text, /pino 2\.0\.0\nLicense: MIT\n\nPermission is granted by pino\./);
    assert.match(text, /shared 4\.0\.0\nLicense: BSD-2-Clause/);
    assert.doesNotMatch(text, /inner 9\.0\.0|other-system|tracker/);
  });
});

describe("the image's tree", () => {
  it("holds one binary of uWebSockets.js, for the Node.js that it is made for", () => {
    const { root } = project({ ...READ, ...OWN });
    const out = join(root, "image");
    assembleTree({ root, dist: join(root, "dist"), out, target: TARGET });
    assert.deepEqual(readdirSync(join(out, "node_modules/uWebSockets.js")).sort(), [
      ...["LICENSE", "package.json", "uws.js"],
      "uws_linux_x64_137.node",
    ]);
    const top = ["LICENSE", "LICENSES.txt", "THIRD_PARTY_NOTICES.md", "dist", "health.mjs", "node_modules"];
    assert.deepEqual(readdirSync(out).sort(), [...top, "package.json"]);
  });

  it("can be read by everybody, and written by its owner alone, however private the checkout is", () => {
    const { root } = project({ ...READ, ...OWN });
    const every = (path: string) => readdirSync(path, { recursive: true, withFileTypes: true });
    const pathOf = (entry: { parentPath: string; name: string }) => join(entry.parentPath, entry.name);
    for (const entry of every(root)) chmodSync(pathOf(entry), entry.isDirectory() ? 0o700 : 0o600);
    chmodSync(join(root, "scripts/image/health.mjs"), 0o700);
    chmodSync(join(root, "LICENSE"), 0o666);
    const out = join(root, "image");
    const umask = process.umask(0o077);
    try {
      assembleTree({ root, dist: join(root, "dist"), out, target: TARGET });
    } finally {
      process.umask(umask);
    }
    const modeOf = (path: string) => statSync(path).mode & 0o777;
    for (const entry of every(out)) {
      const isOpen = entry.isDirectory() || entry.name === "health.mjs";
      assert.equal(modeOf(pathOf(entry)), isOpen ? 0o755 : 0o644, pathOf(entry));
    }
    assert.equal(modeOf(out), 0o755);
  });

  it("is refused where the build is not whole", () => {
    for (const missing of ["src/main.js", "src/chunks/lists.bin"]) {
      const { root } = project({ ...READ, ...OWN });
      rmSync(join(root, "dist", missing));
      const options = { root, dist: join(root, "dist"), out: join(root, "image"), target: TARGET };
      assert.throws(() => assembleTree(options), new RegExp(`there is no ${missing} in .*: npm run build`));
    }
  });

  it("is refused for a Node.js that there is no binary for", () => {
    const { root } = project({ ...READ, ...OWN });
    const options = { root, dist: join(root, "dist"), out: join(root, "image") };
    assert.throws(
      () => assembleTree({ ...options, target: { ...TARGET, abi: "999" } }),
      /uws_linux_x64_999\.node/,
    );
  });

  it("is refused when it is too large", () => {
    const { root } = project({ ...READ, ...OWN, "dist/large": "x".repeat(ADDED_BYTES_MAX) });
    const options = { root, dist: join(root, "dist"), out: join(root, "image") };
    assert.throws(() => assembleTree({ ...options, target: TARGET }), /more than 60000000/);
  });
});

it("goes by the base that the tag names", () => {
  assert.deepEqual(readBase("node:24-trixie-slim"), { node: "24", release: "trixie" });
  assert.deepEqual(readBase(`node:24-trixie-slim@sha256:${"a".repeat(64)}`), {
    node: "24",
    release: "trixie",
  });
  assert.throws(() => readBase("node:latest"), /the base is node:latest/);
});

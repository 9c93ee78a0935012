// npm run release -- VERSION [--write] [--image REPOSITORY@sha256:DIGEST]
//
// Makes a release from the last commit. In a clone of its own it writes the version into every file that has it and the
// date into the changelog, unless the last commit has done so, and builds from the lockfile. It packs the command with
// the service, the client library, the chart, the manifests, the list of parts (CycloneDX), hashes and provenance into
// dist/release. It publishes nothing: it prints the commands that do. With --write it also changes the version and the
// changelog here, to be committed. With --image the chart and the manifests that it packs name the image by its digest.
// Exit codes: 0 done; 1 not; 2 wrong arguments.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { VERSION } from "../src/platform/version.ts";
import { packAll } from "./release/artefacts.ts";
import { isReleased, releaseChangelog } from "./release/changelog.ts";
import { writeImage } from "./release/image.ts";
import { type ReleaseOptions, readReleaseOptions } from "./release/options.ts";
import { howToPublish } from "./release/publish.ts";
import { run } from "./release/run.ts";
import { VERSION_FILES, writeVersion } from "./release/versions.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, "dist/release");

function readArguments(): ReleaseOptions {
  try {
    return readReleaseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(
      `rcpt: ${(error as Error).message}\nusage: npm run release -- VERSION [--write] [--image REPOSITORY@sha256:DIGEST]`,
    );
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

/** Writes the version into a clone, as the commit that is to be tagged will have it. @returns the files that are another */
function commitRelease(source: string, version: string): string[] {
  const changed = change(source, version);
  run(source, "git", "add", "--all");
  const author = ["-c", "user.name=rcpt release", "-c", "user.email=release@invalid"];
  run(source, "git", ...author, "commit", "--quiet", "--message", `Release ${version}`);
  return changed;
}

function release({ version, write, image }: ReleaseOptions): void {
  if (run(ROOT, "git", "status", "--porcelain") !== "")
    throw new Error("there are changes that are not committed: a release is made of a commit");
  const commit = run(ROOT, "git", "rev-parse", "HEAD").trim();
  const isDone = version === VERSION && isReleased(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), version);
  if (image !== null && !isDone)
    throw new Error(
      `--image wants the commit of the release ${version}: it is named there, in package.json and CHANGELOG.md`,
    );
  const folder = mkdtempSync(join(tmpdir(), "rcpt-release-"));
  // npm calls the whole after its folder.
  const source = join(folder, "rcpt");
  try {
    run(ROOT, "git", "clone", "--quiet", "--no-hardlinks", ROOT, source);
    const changed = isDone ? [] : commitRelease(source, version);
    if (image !== null) writeImage(source, image);
    rmSync(OUT, { recursive: true, force: true });
    console.log(`building ${version} from ${commit.slice(0, 8)}`);
    for (const name of [
      ...packAll(source, OUT, { version, image, commit, isReleased: isDone }),
      "SHA256SUMS",
    ])
      console.log(
        `  ${String(Math.ceil(statSync(join(OUT, name)).size / 1024)).padStart(7)} KiB  dist/release/${name}`,
      );
    if (!isDone) console.log(`${write ? "changed" : "would change"} ${changed.join(", ")}`);
    if (write && !isDone) change(ROOT, version);
    const next = write ? `Commit them as "Release ${version}". ` : "Nothing here was changed: --write does. ";
    console.log(`${isDone ? "" : next}${howToPublish(version, image)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  release(readArguments());
} catch (error) {
  console.error(`rcpt: ${(error as Error).message}`);
  process.exitCode = 1;
}

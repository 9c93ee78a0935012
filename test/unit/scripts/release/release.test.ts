import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { isReleased, releaseChangelog, unreleasedOf } from "../../../../scripts/release/changelog.ts";
import { readReleaseOptions } from "../../../../scripts/release/options.ts";
import { howToPublish } from "../../../../scripts/release/publish.ts";
import { countVersion, VERSION_FILES, writeVersion } from "../../../../scripts/release/versions.ts";
import { VERSION } from "../../../../src/platform/version.ts";

const IMAGE = { repository: "registry.example.com:5000/team/rcpt", digest: `sha256:${"a1".repeat(32)}` };
const ROOT = resolve(import.meta.dirname, "../../../..");
const CHANGELOG =
  "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing: $& costs $1.\n\n## 0.1.0 - 2026-01-01\n\n- All.\n";

describe("a release", () => {
  it("finds the version in every file that says it", () => {
    for (const path of VERSION_FILES) assert.ok(countVersion(ROOT, path, VERSION) > 0, path);
    // The project's own four entries, without packages of the same version.
    assert.equal(countVersion(ROOT, "package-lock.json", VERSION), 4);
  });

  it("writes the next version there and nowhere else", (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rcpt-release-test-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    for (const path of VERSION_FILES) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    writeVersion(folder, VERSION, "98.7.6-rc.1");
    for (const path of VERSION_FILES) {
      const written = readFileSync(join(folder, path), "utf8");
      assert.equal(countVersion(folder, path, VERSION), 0, path);
      assert.equal(written.replaceAll("98.7.6-rc.1", VERSION), readFileSync(join(ROOT, path), "utf8"), path);
    }
    assert.throws(() => writeVersion(folder, VERSION, "98.7.7"), /package\.json does not say/);
  });

  it("moves the tags that are followed only when it is final", () => {
    assert.match(howToPublish("1.2.3", null), / -t \S+\/rcpt:1\.2\.3 -t \S+\/rcpt:1\.2 /);
    assert.match(howToPublish("1.2.3-rc.1", null), / -t \S+\/rcpt:1\.2\.3-rc\.1 --build/);
    assert.match(howToPublish("1.2.3", IMAGE), / --access public\n/);
    assert.match(howToPublish("1.2.3-rc.1", IMAGE), / --access public --tag next\n/);
  });

  it("pushes an image before what names it", () => {
    const first = howToPublish("1.2.3", null);
    assert.match(
      first,
      /buildx build --push --sbom=true --provenance=mode=max --metadata-file [\s\S]*--image /,
    );
    assert.doesNotMatch(first, /helm push|npm publish/);
    assert.match(howToPublish("1.2.3", IMAGE), /ssh-keygen -Y sign[\s\S]*helm push/);
  });

  it("attaches every file to the tag's page, once they are signed", () => {
    const attached =
      / {2}gh release create v(\S+) dist\/release\/\* --verify-tag .*--notes-from-tag( --prerelease)?\n/;
    const said = howToPublish("1.2.3", IMAGE);
    assert.deepEqual(attached.exec(said)?.slice(1), ["1.2.3", undefined]);
    assert.ok(said.search(attached) > said.indexOf("ssh-keygen -Y sign"));
    assert.deepEqual(attached.exec(howToPublish("1.2.3-rc.1", IMAGE))?.slice(1), [
      "1.2.3-rc.1",
      " --prerelease",
    ]);
  });

  it("leaves no example of a later version half changed: documents say VERSION", () => {
    const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
    for (const page of pages)
      assert.doesNotMatch(
        readFileSync(join(ROOT, "docs", page), "utf8"),
        /git checkout v\d|rcpt-(?:k8s|chart|client)-\d|RCPT_VERSION=\d/,
        page,
      );
  });

  it("takes a version and an image by its digest", () => {
    const given = `${IMAGE.repository}@${IMAGE.digest}`;
    assert.deepEqual(readReleaseOptions(["1.2.3", "--image", given]), {
      version: "1.2.3",
      write: false,
      image: IMAGE,
    });
    for (const image of ["rcpt", "registry.example.com/rcpt:1.2.3", `rcpt@${IMAGE.digest}`, `${given}0`])
      assert.throws(() => readReleaseOptions(["1.2.3", "--image", image]), /--image is REPOSITORY@sha256/);
  });

  it("of a commit that has the version is not written again", () => {
    assert.equal(isReleased(CHANGELOG, "0.1.0"), false);
    const released = releaseChangelog(CHANGELOG, "0.2.0", "2026-02-03");
    assert.deepEqual([isReleased(released, "0.2.0"), isReleased(released, "0.3.0")], [true, false]);
  });

  it("puts the version and the day above what is unreleased", () => {
    const released = releaseChangelog(CHANGELOG, "0.2.0", "2026-02-03");
    assert.match(
      released,
      /## Unreleased\n\n## 0\.2\.0 - 2026-02-03\n\n### Added\n\n- A thing: \$& costs \$1\.\n/,
    );
    assert.equal(unreleasedOf(released), "");
    assert.throws(() => releaseChangelog(released, "0.3.0", "2026-02-03"), /nothing under/);
    assert.throws(() => releaseChangelog(CHANGELOG, "0.1.0", "2026-02-03"), /has 0\.1\.0 already/);
  });
});

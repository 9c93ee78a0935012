const UNRELEASED = "## Unreleased";

/** Changelog entries since the last release; "": none. */
export function unreleasedOf(changelog: string): string {
  const from = changelog.indexOf(`${UNRELEASED}\n`);
  if (from === -1) return "";
  const rest = changelog.slice(from + UNRELEASED.length);
  const next = rest.search(/^## /m);
  return (next === -1 ? rest : rest.slice(0, next)).trim();
}

/** Whether the version has its heading, and nothing came after it. */
export function isReleased(changelog: string, version: string): boolean {
  return unreleasedOf(changelog) === "" && changelog.includes(`\n## ${version} `);
}

/**
 * The changelog with what is unreleased under the version.
 * @param date ISO, of the day
 * @throws Error when there is nothing to release, or the version is there already
 */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  if (unreleasedOf(changelog) === "") throw new Error(`CHANGELOG.md has nothing under "${UNRELEASED}"`);
  if (changelog.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md has ${version} already`);
  return changelog.replace(UNRELEASED, () => `${UNRELEASED}\n\n## ${version} - ${date}`);
}

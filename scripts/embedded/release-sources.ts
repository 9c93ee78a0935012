import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

const FOLDER = "/etc/apt";

/** The suites of `codename` among `suites`, e.g. `bookworm` and `bookworm-updates`, by their names in `release`. */
function renamed(suites: readonly string[], codename: string, release: string): string[] {
  return suites
    .filter((suite) => suite === codename || suite.startsWith(`${codename}-`))
    .map((suite) => release + suite.slice(codename.length));
}

/** One stanza of the newer form; null where nothing of it is of the release. */
function stanza(text: string, codename: string, release: string): string | null {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  const at = lines.findIndex((line) => /^suites:/i.test(line));
  const suites = renamed(lines[at]?.split(/[:\s]+/).slice(1) ?? [], codename, release);
  if (suites.length === 0) return null;
  return lines.with(at, `Suites: ${suites.join(" ")}`).join("\n");
}

/** One line of the older form. */
function oneLine(text: string, codename: string, release: string): string | null {
  const [, before = "", suite = "", behind = ""] =
    /^(deb\s+(?:\[[^\]]*\]\s+)?\S+\s+)(\S+)(\s.*)$/.exec(text.trim()) ?? [];
  const [found] = renamed([suite], codename, release);
  return found === undefined ? null : before + found + behind;
}

export interface AptSources {
  /** Content of a file `*.list`, the older form. */
  list: string;
  /** Content of a file `*.sources`, the newer form. */
  sources: string;
}

/**
 * The distribution's own sources as they are for another release of it: what a third party offers for this one is left out.
 * @param codename of the release that they are for, e.g. `bookworm`
 */
export function sourcesFor(given: AptSources, codename: string, release: string): AptSources {
  const lines = given.list.split("\n").map((line) => oneLine(line, codename, release));
  const stanzas = given.sources.split(/\n\s*\n/).map((text) => stanza(text, codename, release));
  return {
    list: lines.flatMap((line) => (line === null ? [] : [`${line}\n`])).join(""),
    sources: stanzas.flatMap((text) => (text === null ? [] : [`${text.trim()}\n`])).join("\n"),
  };
}

/**
 * This system's sources, for `release` of the same distribution.
 * @throws Error when this is no Debian, or has no sources of its own release
 */
export function systemSourcesFor(release: string): AptSources {
  const { ID, VERSION_CODENAME = "" } = parseEnv(readFileSync("/etc/os-release", "utf8"));
  if (ID !== "debian" || VERSION_CODENAME === "")
    throw new Error(`packages of ${release} are fetched on Debian only`);
  const parts = join(FOLDER, "sources.list.d");
  const files = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  const textOf = (paths: string[]) => paths.map((path) => readFileSync(path, "utf8")).join("\n\n");
  const main = join(FOLDER, "sources.list");
  const lists = [...(existsSync(main) ? [main] : []), ...files.filter((path) => path.endsWith(".list"))];
  const given = {
    list: textOf(lists),
    sources: textOf(files.filter((path) => path.endsWith(".sources"))),
  };
  const found = sourcesFor(given, VERSION_CODENAME, release);
  if (found.list === "" && found.sources === "")
    throw new Error(`/etc/apt names no sources of ${VERSION_CODENAME}`);
  return found;
}

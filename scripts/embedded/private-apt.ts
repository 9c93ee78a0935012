import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "./guard.ts";
import { runsAsRoot } from "./reachable.ts";
import { systemSourcesFor } from "./release-sources.ts";

const APT_SETTINGS = "/etc/apt/apt.conf.d";
const DPKG_STATUS = "/var/lib/dpkg/status";
const HOOKS = ["Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"];

/** One line that says why the distribution's packages cannot be had here, or null. */
export function whyNoPackages(): string | null {
  const missing = ["/usr/bin/apt-get", "/usr/bin/dpkg-deb", DPKG_STATUS].filter((path) => !existsSync(path));
  return missing.length === 0 ? null : `needs Debian or Ubuntu: there is no ${missing.join(", no ")}`;
}

/**
 * Environment in which every file that apt writes is inside `work`, as root or not. It reads the system's sources, keys
 * and settings, but does not run the system's hooks, which may write anywhere.
 *
 * @param believes packages that apt takes for installed: those of the system, or none, so that it fetches every library
 * @param release another release of the distribution, e.g. `trixie`; null: the system's
 */
export function privateApt(
  work: string,
  guard: Guard,
  believes: "system" | "nothing",
  release: string | null = null,
): NodeJS.ProcessEnv {
  for (const part of ["state/lists/partial", "cache/archives/partial", "log", "conf"])
    mkdirSync(join(work, part), { recursive: true });
  if (believes === "system") cpSync(DPKG_STATUS, join(work, "status"));
  else writeFileSync(join(work, "status"), "");
  for (const name of existsSync(APT_SETTINGS) ? readdirSync(APT_SETTINGS) : [])
    cpSync(join(APT_SETTINGS, name), join(work, "conf", name), { dereference: true });
  writeFileSync(
    join(work, "conf/zz-no-hooks"),
    HOOKS.map((hook) => `#clear APT::Update::${hook};\n`).join(""),
  );
  const settings = [
    `Dir::Etc::Parts "${work}/conf";`,
    `Dir::State "${work}/state";`,
    `Dir::State::status "${work}/status";`,
    `Dir::Cache "${work}/cache";`,
    `Dir::Log "${work}/log";`,
    'Acquire::Retries "2";',
    'Acquire::Languages "none";',
    'APT::Install-Recommends "0";',
    ...(runsAsRoot() ? ['APT::Sandbox::User "root";'] : []),
    ...(release === null ? [] : sourcesIn(join(work, "sources"), release)),
  ];
  writeFileSync(join(work, "apt.conf"), `${settings.join("\n")}\n`);
  return { PATH: process.env.PATH, LC_ALL: "C", APT_CONFIG: join(work, "apt.conf"), ...guard.env };
}

/** Writes the sources of `release` into `folder`. @returns settings that have apt read those alone */
function sourcesIn(folder: string, release: string): string[] {
  mkdirSync(folder);
  const { list, sources } = systemSourcesFor(release);
  writeFileSync(join(folder, `${release}.list`), list);
  writeFileSync(join(folder, `${release}.sources`), sources);
  return ['Dir::Etc::sourcelist "/dev/null";', `Dir::Etc::sourceparts "${folder}";`];
}

import type { ListPackage } from "../../src/verification/lists/compile.ts";
import type { ListRelease } from "../../src/verification/lists/releases.ts";

/** A newer release of a list than the one in use, and what it changes. */
export interface Update {
  name: ListPackage;
  from: ListRelease;
  to: ListRelease;
  added: string[];
  removed: string[];
  /** Added names that are mailbox providers or trusted: a person has to decide about each. */
  doubtful: string[];
}

/** Where a refresh reads releases and names from. */
export interface RefreshSources {
  /** The newest version that the registry has, and when it was released (ISO 8601). */
  newest(name: ListPackage): Promise<{ version: string; releasedAt: string }>;
  /** Names of the release in use. */
  namesInUse(name: ListPackage): string[];
  /** Names of another release, and the date in its data; null: it has none. */
  namesOf(name: ListPackage, version: string): Promise<{ names: string[]; dataAt: Date | null }>;
  isDoubtful(name: string): boolean;
}

/** The day of the older one, UTC. */
export function asOfDay(releasedAt: string, dataAt: Date | null): string {
  const released = new Date(releasedAt);
  const older = dataAt !== null && dataAt < released ? dataAt : released;
  return older.toISOString().slice(0, 10);
}

/** Names that `wanted` has and `others` lacks, in order. */
function lacking(wanted: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return [...new Set(wanted)].filter((name) => !known.has(name)).sort();
}

/** Finds newer releases, list by list. @throws errors of the sources */
export async function findUpdates(
  releases: Readonly<Record<ListPackage, ListRelease>>,
  sources: RefreshSources,
): Promise<Update[]> {
  const updates: Update[] = [];
  for (const name of Object.keys(releases) as ListPackage[]) {
    const from = releases[name];
    const { version, releasedAt } = await sources.newest(name);
    if (version === from.version) continue;
    const { names, dataAt } = await sources.namesOf(name, version);
    const inUse = sources.namesInUse(name);
    const added = lacking(names, inUse);
    updates.push({
      name,
      from,
      to: { version, asOf: asOfDay(releasedAt, dataAt) },
      added,
      removed: lacking(inUse, names),
      doubtful: added.filter(sources.isDoubtful),
    });
  }
  return updates;
}

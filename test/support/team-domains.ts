import { LIMITS } from "../../src/config/limits/limits.ts";
import type { TeamDomains, TeamDomainsReader } from "../../src/features/auth/team-domains.ts";

export interface MemoryTeamDomains extends TeamDomainsReader {
  /** The stored lists of the team; made at the first call. */
  stored(teamId: string): { blocked: Map<string, boolean>; disposable: Set<string> };
  readonly reads: { pages: number; named: number };
  /** Reads fail while it is set. */
  fails: boolean;
  /** Called before each read. */
  beforeRead: () => Promise<void> | void;
}

/** Stored lists of teams, in memory instead of Postgres. */
export function createMemoryTeamDomains(): MemoryTeamDomains {
  const teams = new Map<string, ReturnType<MemoryTeamDomains["stored"]>>();
  const stored: MemoryTeamDomains["stored"] = (teamId) => {
    const team = teams.get(teamId) ?? { blocked: new Map(), disposable: new Set() };
    teams.set(teamId, team);
    return team;
  };

  function read(teamId: string, keep: (domain: string, list: keyof TeamDomains) => boolean): TeamDomains {
    const { blocked, disposable } = stored(teamId);
    const names = [...blocked].filter(([domain]) => keep(domain, "blocklist")).sort();
    return {
      blocklist: names.map(([domain, includeSubdomains]) => ({ domain, includeSubdomains })),
      disposable: [...disposable].filter((domain) => keep(domain, "disposable")).sort(),
    };
  }

  const reader: MemoryTeamDomains = {
    stored,
    reads: { pages: 0, named: 0 },
    fails: false,
    beforeRead: () => undefined,
    async page(teamId, behind) {
      reader.reads.pages += 1;
      await reader.beforeRead();
      if (reader.fails) throw new Error("away");
      const lists = read(teamId, (domain, list) => domain > (behind[list] ?? "~"));
      const { domainsPerPage } = LIMITS.keys;
      const blocklist = lists.blocklist.slice(0, domainsPerPage);
      const disposable = lists.disposable.slice(0, domainsPerPage);
      const next = {
        blocklist: blocklist.length === domainsPerPage ? (blocklist.at(-1)?.domain ?? null) : null,
        disposable: disposable.length === domainsPerPage ? (disposable.at(-1) ?? null) : null,
      };
      const isLast = next.blocklist === null && next.disposable === null;
      return { lists: { blocklist, disposable }, next: isLast ? null : next };
    },
    async named(teamId, domains) {
      reader.reads.named += 1;
      await reader.beforeRead();
      if (reader.fails) throw new Error("away");
      return read(teamId, (domain) => domains.includes(domain));
    },
  };
  return reader;
}

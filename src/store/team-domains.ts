import { LIMITS } from "../core/limits.ts";
import type { Queryable } from "./postgres.ts";

/** What a team says of domains, as its overlay is made from. */
export interface TeamDomains {
  blocklist: { domain: string; includeSubdomains: boolean }[];
  /** Merged disposable overrides. */
  disposable: string[];
}

/** Read where there is no credential to read them with: for the rows of a job. A team that is gone says nothing. */
export async function readTeamDomains(sql: Queryable, teamId: string): Promise<TeamDomains> {
  const blocklist = sql<TeamDomains["blocklist"]>`
    select domain, include_subdomains as "includeSubdomains" from blocklist
    where team_id = ${teamId} order by domain limit ${LIMITS.keys.blocklistEntriesPerTeam}`;
  const disposable = sql<{ domain: string }[]>`
    select domain from disposable_overrides
    where team_id = ${teamId} and status = 'merged' order by domain limit ${LIMITS.overrides.perTeam}`;
  const [blocked, overridden] = await Promise.all([blocklist, disposable]);
  return { blocklist: blocked, disposable: overridden.map(({ domain }) => domain) };
}

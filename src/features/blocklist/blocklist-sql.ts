import { LIMITS } from "../../config/limits/limits.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** A domain that a team has blocked. */
export interface BlocklistRow {
  /** A-labels, lower case. */
  domain: string;
  includeSubdomains: boolean;
  createdAt: Date;
}

/** "blocked": it was blocked already; "full": the team has reached its limit. */
type AddOutcome = BlocklistRow | "blocked" | "full";

/** Entries by domain after `after`, at most `limit`. */
export async function listBlocked(
  sql: Queryable,
  teamId: string,
  page: { after: string | null; limit: number },
): Promise<BlocklistRow[]> {
  return sql<BlocklistRow[]>`
    select domain, include_subdomains as "includeSubdomains", created_at as "createdAt"
    from blocklist where team_id = ${teamId} and domain > ${page.after ?? ""}
    order by domain limit ${page.limit}`;
}

/** Adds an entry. The caller holds the team's lock, so the count is exact. */
export async function insertBlocked(
  tx: Transaction,
  teamId: string,
  entry: Pick<BlocklistRow, "domain" | "includeSubdomains">,
): Promise<AddOutcome> {
  const [known] = await tx`select from blocklist where team_id = ${teamId} and domain = ${entry.domain}`;
  if (known !== undefined) return "blocked";
  const [row] = await tx<BlocklistRow[]>`
    insert into blocklist (team_id, domain, include_subdomains)
    select ${teamId}::text, ${entry.domain}::text, ${entry.includeSubdomains}::boolean
    where (select count(*) from blocklist where team_id = ${teamId}) < ${LIMITS.keys.blocklistEntriesPerTeam}
    returning domain, include_subdomains as "includeSubdomains", created_at as "createdAt"`;
  return row ?? "full";
}

/** True when there was such an entry. */
export async function deleteBlocked(tx: Transaction, teamId: string, domain: string): Promise<boolean> {
  const gone = await tx`delete from blocklist where team_id = ${teamId} and domain = ${domain}`;
  return gone.count > 0;
}

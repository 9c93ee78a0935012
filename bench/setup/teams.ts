import { bootstrap } from "../../src/features/teams/bootstrap.ts";
import type { Database } from "../../src/stores/postgres/postgres.ts";
import type { BenchContext } from "./context.ts";
import { inDatabase } from "./database.ts";

export interface BenchTeam {
  teamId: string;
  liveKey: string;
}

export interface TeamWishes {
  tier?: "starter" | "pro_plus" | "enterprise";
  /** May have lists of any length. */
  anyLists?: boolean;
  /** A domain on its blocklist, its subdomains with it if need be. */
  blocked?: { domain: string; subdomains: boolean };
}

/** Above the largest list that any section has. */
export const ANY_LISTS = { dailyQuota: 1_000_000_000, bulkBytes: 100_000_000_000 };

async function made(sql: Database, name: string, wishes: TeamWishes): Promise<BenchTeam> {
  const { tier = "enterprise", anyLists = false, blocked } = wishes;
  const team = await bootstrap(sql, { email: `${name}@example.com`, team: name, tier });
  if (anyLists) await sql`update teams set limits = ${sql.json(ANY_LISTS)} where id = ${team.teamId}`;
  if (blocked)
    await sql`insert into blocklist (team_id, domain, include_subdomains) values (${team.teamId}, ${blocked.domain}, ${blocked.subdomains})`;
  return team;
}

/** A team in the run's database, which is brought to the newest schema. */
export function makeTeam(context: BenchContext, name: string, wishes: TeamWishes = {}): Promise<BenchTeam> {
  return inDatabase(context, (sql) => made(sql, name, wishes));
}

/** Teams of the tier `enterprise`, `name0` and so on; `adjust` is called for each. @returns their keys */
export function makeTeams(
  context: BenchContext,
  name: string,
  count: number,
  adjust: (sql: Database, teamId: string) => Promise<unknown> = async () => {},
): Promise<string[]> {
  return inDatabase(context, async (sql) => {
    const keys: string[] = [];
    for (let team = 0; team < count; team++) {
      const { teamId, liveKey } = await made(sql, `${name}${team}`, {});
      await adjust(sql, teamId);
      keys.push(liveKey);
    }
    return keys;
  });
}

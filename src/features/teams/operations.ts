import { LIMITS } from "../../config/limits/limits.ts";
import { effectiveLimits, type Tier, type TierLimits } from "../../config/tiers.ts";
import { isId } from "../../platform/ids.ts";
import { deleteGrant, insertGrant, listGrants, type S3Grant } from "../../stores/objects/s3-grants.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import { limitOverrides } from "../auth/lookup.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { readEmail } from "../identity/email-address.ts";
import { lockTeam } from "../identity/team-sql.ts";
import {
  findTeamsOfOwner,
  listOperatedTeams,
  type OperatedTeam,
  setTeamLimit,
  setTeamOperator,
  setTeamTier,
} from "./operations-sql.ts";

/** A team as the operator sees it. */
export interface TeamReport extends Omit<OperatedTeam, "limits"> {
  /** Limits in force: the tier's with the overrides on top. */
  limits: TierLimits;
  overrides: Partial<TierLimits>;
  grants: S3Grant[];
}

/** The operator's request is impossible. `message` is one line. */
export class OperationError extends Error {
  override name = "OperationError";
}

/** A new value of one limit; null: back to the tier's. */
export type LimitChange = {
  [N in keyof TierLimits]: { name: N; value: TierLimits[N] | null };
}[keyof TierLimits];

/**
 * The operator's changes to a team, independent of roles. `team` is an id, or the address of an owner who has one team.
 * Changes count in every running process within a second. All methods throw OperationError.
 */
export interface TeamOperations {
  show(team: string): Promise<TeamReport>;
  setTier(team: string, tier: Tier): Promise<TeamReport>;
  setLimit(team: string, change: LimitChange): Promise<TeamReport>;
  /** Whether the team may read the state of the deployment. */
  setOperator(team: string, operator: boolean): Promise<TeamReport>;
  grantS3(team: string, grant: S3Grant): Promise<TeamReport>;
  revokeS3(team: string, grant: S3Grant): Promise<TeamReport>;
  /** Every team by id, a page at a time. */
  pages(): AsyncIterable<OperatedTeam[]>;
}

export interface TeamOperationsDeps {
  sql: Database;
  publisher: ChangePublisher;
  /** The bucket of this deployment's own objects, which no team may be granted; null: none. */
  ownBucket: string | null;
}

const PAGE = 1_000;
/** Number of an owner's teams that a refusal names. */
const NAMED = 10;

export function createTeamOperations({ sql, publisher, ownBucket }: TeamOperationsDeps): TeamOperations {
  async function resolve(team: string): Promise<string> {
    if (!team.includes("@")) {
      if (!isId("team", team))
        throw new OperationError(`${JSON.stringify(team)} is neither a team id nor an address`);
      return team;
    }
    const email = readEmail(team.trim());
    if (email === null) throw new OperationError(`${JSON.stringify(team)} is not an address`);
    const [id, ...others] = await findTeamsOfOwner(sql, email, NAMED + 1);
    if (id === undefined) throw new OperationError("this address owns no team");
    if (others.length > 0)
      throw new OperationError(`this address owns several teams; name one: ${[id, ...others].join(" ")}`);
    return id;
  }

  async function report(id: string): Promise<TeamReport> {
    const [[team], grants] = await Promise.all([
      listOperatedTeams(sql, { id, after: "", limit: 1 }),
      listGrants(sql, id),
    ]);
    if (team === undefined) throw noTeam(id);
    const overrides = limitOverrides(team.limits);
    return { ...team, limits: effectiveLimits(team.tier, overrides), overrides, grants };
  }

  /** Runs `work` on the locked team. */
  async function change(
    team: string,
    work: (tx: Transaction, id: string) => Promise<void>,
  ): Promise<TeamReport> {
    const id = await resolve(team);
    await publisher.transact(async (tx) => {
      if (!(await lockTeam(tx, id))) throw noTeam(id);
      await work(tx, id);
    }, id);
    return report(id);
  }

  return {
    show: async (team) => report(await resolve(team)),
    setTier: (team, tier) => change(team, (tx, id) => setTeamTier(tx, id, tier)),
    setLimit: (team, { name, value }) => change(team, (tx, id) => setTeamLimit(tx, id, name, value)),
    setOperator: (team, operator) => change(team, (tx, id) => setTeamOperator(tx, id, operator)),
    grantS3: (team, grant) =>
      change(team, async (tx, id) => {
        if (grant.bucket === ownBucket)
          throw new OperationError(`${grant.bucket} holds the objects of all teams: it cannot be granted`);
        const max = LIMITS.team.s3Grants;
        if (!(await insertGrant(tx, id, grant, max)))
          throw new OperationError(`the team has ${max} grants already`);
      }),
    revokeS3: (team, grant) =>
      change(team, async (tx, id) => {
        if (!(await deleteGrant(tx, id, grant))) throw new OperationError("the team has no such grant");
      }),
    async *pages() {
      for (let after = ""; ; ) {
        const page = await listOperatedTeams(sql, { id: null, after, limit: PAGE });
        yield page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = last.id;
      }
    },
  };
}

const noTeam = (id: string) => new OperationError(`there is no team ${id}`);

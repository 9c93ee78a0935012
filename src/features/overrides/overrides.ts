import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Database, TeamTransaction } from "../../stores/postgres/postgres.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { readDomainName } from "../blocklist/domain-name.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import {
  countOverrides,
  countPendingOverrides,
  deleteOverride,
  insertOverrides,
  listOverrides,
  type OverrideRow,
  readOverrides,
} from "./override-sql.ts";
import type { ReadDomains } from "./read-domains.ts";

export interface Override {
  id: string;
  /** A-labels, lower case. */
  domain: string;
  status: "pending" | "merged";
  /** The value of `checks.disposable.source` once merged. */
  source: "override" | null;
  created_at: string;
  merged_at: string | null;
}

export interface OverrideSubmission {
  /** Domains that are new to the team. */
  accepted: number;
  /** The others: sent twice, or submitted before. */
  duplicates: number;
  /** Each domain of the request once, in request order, with its current state. */
  data: Override[];
}

/**
 * Domains that a team marks as disposable. They are pending until the relay merges them, and then count in that team's
 * verdicts alone: one team must not affect another's.
 */
export interface Overrides {
  /**
   * All or nothing.
   * @param domains 1 to LIMITS.overrides.domainsPerRequest, in any spelling
   * @throws AppError `validation_failed` naming each invalid domain; `limit_reached`, `overloaded`
   */
  submit(actor: Actor, domains: readonly string[]): Promise<OverrideSubmission>;
  /** Newest first. */
  list(actor: Actor, ask: PageRequest): Promise<Page<Override>>;
  pending(actor: Actor): Promise<number>;
  /**
   * In force in this process when it resolves, in every other within a second.
   * @param domain in any spelling that `submit` accepts. @throws AppError `not_found`
   */
  remove(actor: Actor, domain: string): Promise<void>;
}

function render(row: OverrideRow): Override {
  return {
    id: row.id,
    domain: row.domain,
    status: row.status,
    source: row.status === "merged" ? "override" : null,
    created_at: row.createdAt.toISOString(),
    merged_at: row.mergedAt?.toISOString() ?? null,
  };
}

/** Stores the new ones, unless they are too many: nothing is written then. Returns all with their current state. */
async function store(
  tx: TeamTransaction,
  actor: Actor,
  domains: readonly string[],
): Promise<{ accepted: number; rows: OverrideRow[] }> {
  const { teamId } = actor;
  const { userId } = await lockActingMember(tx, actor, "owner");
  const known = await readOverrides(tx, teamId, domains);
  const there = new Set(known.map(({ domain }) => domain));
  const missing = domains.filter((domain) => !there.has(domain));
  if (missing.length === 0) return { accepted: 0, rows: known };
  const max = LIMITS.overrides.perTeam;
  if ((await countOverrides(tx, teamId)) + missing.length > max)
    throw new AppError(
      "limit_reached",
      `A team may have at most ${max} disposable overrides; none was added.`,
    );
  const overrides = missing.map((domain) => ({ id: newId("ovr"), domain }));
  const added = await insertOverrides(tx, { teamId, userId, overrides });
  return { accepted: added.length, rows: [...known, ...added] };
}

export interface OverridesDeps {
  sql: Database;
  publisher: ChangePublisher;
  readDomains: ReadDomains;
}

export function createOverrides({ sql, publisher, readDomains }: OverridesDeps): Overrides {
  return {
    async submit(actor, texts) {
      const domains = await readDomains(texts, shareKey(actor));
      return publisher.transact(async (tx) => {
        const { accepted, rows } = await store(tx, actor, domains);
        const byDomain = new Map(rows.map((row) => [row.domain, row]));
        const data = domains.flatMap((domain) => byDomain.get(domain) ?? []).map(render);
        return { accepted, duplicates: texts.length - accepted, data };
      }, actor.teamId);
    },

    async list(actor, ask) {
      const rows = await listOverrides(sql, actor.teamId, { after: ask.after, limit: ask.limit + 1 });
      return pageOf(rows, ask, (row) => row.id, render);
    },

    pending: (actor) => countPendingOverrides(sql, actor.teamId),

    async remove(actor, text) {
      const domain = readDomainName(text);
      const removed =
        domain !== null &&
        (await publisher.transact(async (tx) => {
          await lockActingMember(tx, actor, "owner");
          return deleteOverride(tx, actor.teamId, domain);
        }, actor.teamId));
      if (!removed) throw new AppError("not_found", "The team has no override of this domain.");
    },
  };
}

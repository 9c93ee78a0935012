import { LIMITS } from "../../config/limits/limits.ts";
import { AppError, type ErrorIssue } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Database, TeamTransaction } from "../../stores/postgres/postgres.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { NOT_A_DOMAIN_DETAIL, readDomainName } from "../blocklist/domain-name.ts";
import type { Actor } from "../identity/actor.ts";
import {
  countOverrides,
  countPendingOverrides,
  deleteOverride,
  insertOverrides,
  listOverrides,
  type OverrideRow,
  readOverrides,
} from "./override-sql.ts";

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
   * @throws AppError `validation_failed` naming each invalid domain; `limit_reached`
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

/** Each domain once, in order of first mention. */
function readDomains(texts: readonly string[]): string[] {
  const domains = new Set<string>();
  const errors: ErrorIssue[] = [];
  for (const [index, text] of texts.entries()) {
    const domain = readDomainName(text);
    if (domain !== null) domains.add(domain);
    else if (errors.length < LIMITS.http.validationIssues)
      errors.push({ path: `domains.${index}`, message: NOT_A_DOMAIN_DETAIL });
  }
  const [first] = errors;
  if (first === undefined) return [...domains];
  throw new AppError("validation_failed", `${first.path} (body) ${NOT_A_DOMAIN_DETAIL}.`, { errors });
}

/** Stores the new ones; returns their number. */
async function store(tx: TeamTransaction, actor: Actor, domains: readonly string[]): Promise<number> {
  const { teamId } = actor;
  const { userId } = await lockActingMember(tx, actor, "owner");
  const overrides = domains.map((domain) => ({ id: newId("ovr"), domain }));
  const added = await insertOverrides(tx, { teamId, userId, overrides });
  const max = LIMITS.overrides.perTeam;
  if (added > 0 && (await countOverrides(tx, teamId)) > max)
    throw new AppError(
      "limit_reached",
      `A team may have at most ${max} disposable overrides; none was added.`,
    );
  return added;
}

export function createOverrides(deps: { sql: Database; publisher: ChangePublisher }): Overrides {
  const { sql, publisher } = deps;
  return {
    async submit(actor, texts) {
      const domains = readDomains(texts);
      return publisher.transact(async (tx) => {
        const accepted = await store(tx, actor, domains);
        const rows = await readOverrides(tx, actor.teamId, domains);
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

import { LIMITS } from "../../config/limits/limits.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** SQL of the domains that the operator marks as disposable for all teams. A trigger records every change. */

/** All of them, by name, at most LIMITS.overrides.promoted. One JSON value: that many rows would block the process. */
export async function readPromoted(sql: Queryable): Promise<string[]> {
  const [row] = await sql<[{ domains: string[] | null }]>`
    select jsonb_agg(domain order by domain) as domains
    from (select domain from promoted_disposables order by domain limit ${LIMITS.overrides.promoted}) promoted`;
  return row.domains ?? [];
}

/** Blocks other changes until the transaction ends; reads go on. */
export async function lockPromoted(tx: Transaction): Promise<void> {
  await tx`lock table promoted_disposables in share row exclusive mode`;
}

/** Adds domains; returns the new ones. */
export async function insertPromoted(tx: Transaction, domains: readonly string[]): Promise<string[]> {
  const rows = await tx<{ domain: string }[]>`
    insert into promoted_disposables (domain)
    select jsonb_array_elements_text(${tx.json(domains)})
    on conflict do nothing returning domain`;
  return rows.map(({ domain }) => domain);
}

/** The promoted domains among `domains`. */
export async function findPromoted(sql: Queryable, domains: readonly string[]): Promise<string[]> {
  const rows = await sql<{ domain: string }[]>`
    select domain from promoted_disposables
    where domain in (select jsonb_array_elements_text(${sql.json(domains)}))`;
  return rows.map(({ domain }) => domain);
}

/** Removes domains. */
export async function deletePromoted(tx: Transaction, domains: readonly string[]): Promise<void> {
  await tx`
    delete from promoted_disposables
    where domain in (select jsonb_array_elements_text(${tx.json(domains)}))`;
}

export async function countPromoted(sql: Queryable): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`select count(*)::int as count from promoted_disposables`;
  return count;
}

export interface PromotionCandidate {
  domain: string;
  /** Number of teams with it among their merged overrides. */
  teams: number;
}

/** Domains merged by teams and not promoted, most teams first. */
export async function readCandidates(sql: Queryable, limit: number): Promise<PromotionCandidate[]> {
  return sql<PromotionCandidate[]>`
    select o.domain, count(*)::int as teams from disposable_overrides o
    where o.status = 'merged' and not exists (select from promoted_disposables p where p.domain = o.domain)
    group by o.domain order by teams desc, o.domain limit ${limit}`;
}

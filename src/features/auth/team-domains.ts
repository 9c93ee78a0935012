import { LIMITS } from "../../config/limits/limits.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";

/** A team's domain lists: A-labels, lower case, no trailing dot. */
export interface TeamDomains {
  blocklist: { domain: string; includeSubdomains: boolean }[];
  /** Merged disposable overrides. */
  disposable: string[];
}

/** Position of the next page of each list: after this domain; null: the list was read to its end. */
export interface DomainsCursor {
  blocklist: string | null;
  disposable: string | null;
}

export interface DomainsPage {
  lists: TeamDomains;
  /** null: both lists were read to their end. */
  next: DomainsCursor | null;
}

export interface TeamDomainsReader {
  /** At most LIMITS.keys.domainsPerPage of each list, in any order. Empty for a deleted team. */
  page(teamId: string, behind: DomainsCursor): Promise<DomainsPage>;
  /** The entries of the team's lists for `domains`. */
  named(teamId: string, domains: readonly string[]): Promise<TeamDomains>;
}

/** The domains of a list in one text, separated by spaces: null without any. */
interface PageRow {
  below: string | null;
  exact: string | null;
  disposable: string | null;
  /** Last domain of the page; null: it is the last page. */
  blockedEnd: string | null;
  disposableEnd: string | null;
}

interface ListedRow {
  domain: string;
  /** null: an override. */
  includeSubdomains: boolean | null;
}

const namesIn = (text: string | null) => (text === null ? [] : text.split(" "));

function listsOf(rows: readonly ListedRow[]): TeamDomains {
  const lists: TeamDomains = { blocklist: [], disposable: [] };
  for (const { domain, includeSubdomains } of rows) {
    if (includeSubdomains === null) lists.disposable.push(domain);
    else lists.blocklist.push({ domain, includeSubdomains });
  }
  return lists;
}

/** Pages come as texts: 9,000 domains then cost the process 5 ms, over four pages; as rows they cost 15. */
export function createTeamDomains(sql: Queryable): TeamDomainsReader {
  const { domainsPerPage } = LIMITS.keys;
  return {
    async page(teamId, { blocklist, disposable }) {
      const [row] = await sql<[PageRow]>`
        select b.*, d.* from (
          select string_agg(domain, ' ') filter (where include_subdomains) as below,
                 string_agg(domain, ' ') filter (where not include_subdomains) as exact,
                 case when count(*) = ${domainsPerPage} then max(domain) end as "blockedEnd"
          from (
            select domain, include_subdomains from blocklist
            where team_id = ${teamId} and domain > ${blocklist ?? ""}
            order by domain limit ${blocklist === null ? 0 : domainsPerPage}
          ) entries
        ) b cross join (
          select string_agg(domain, ' ') as disposable,
                 case when count(*) = ${domainsPerPage} then max(domain) end as "disposableEnd"
          from (
            select domain from disposable_overrides
            where team_id = ${teamId} and status = 'merged' and domain > ${disposable ?? ""}
            order by domain limit ${disposable === null ? 0 : domainsPerPage}
          ) merged
        ) d`;
      const below = namesIn(row.below).map((domain) => ({ domain, includeSubdomains: true }));
      const exact = namesIn(row.exact).map((domain) => ({ domain, includeSubdomains: false }));
      const next = { blocklist: row.blockedEnd, disposable: row.disposableEnd };
      return {
        lists: { blocklist: [...below, ...exact], disposable: namesIn(row.disposable) },
        next: next.blocklist === null && next.disposable === null ? null : next,
      };
    },

    async named(teamId, domains) {
      const names = sql`(select jsonb_array_elements_text(${sql.json(domains)}))`;
      return listsOf(
        await sql<ListedRow[]>`
          select domain, include_subdomains as "includeSubdomains" from blocklist
          where team_id = ${teamId} and domain in ${names}
          union all
          select domain, null::boolean from disposable_overrides
          where team_id = ${teamId} and status = 'merged' and domain in ${names}`,
      );
    },
  };
}

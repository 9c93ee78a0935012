import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { Lists } from "../../verification/lists/lists.ts";
import { promotionRefusal } from "../../verification/lists/promoted.ts";
import { readDomainName } from "../blocklist/domain-name.ts";
import {
  countPromoted,
  deletePromoted,
  findPromoted,
  insertPromoted,
  lockPromoted,
  readCandidates,
  readPromoted,
} from "./promoted-disposable-sql.ts";

export interface PromotionRefusal {
  /** The domain as given. */
  name: string;
  /** The reason, to follow the name. */
  why: string;
}

/** The outcome for several domains: all are changed or, if one is refused, none. */
export type PromotionOutcome = { changed: string[]; unchanged: string[] } | { refused: PromotionRefusal[] };

export interface PromotableDomain {
  domain: string;
  /** Number of teams with it among their merged overrides. */
  teams: number;
  /** Why it would be refused; null: it would not. */
  refusal: string | null;
}

/** The operator's choice of overrides for all teams, in force in every running process within a second. */
export interface Promotion {
  promoted(): Promise<string[]>;
  /** Domains merged by teams and not promoted, most teams first; at most LIMITS.overrides.operatorLines. */
  candidates(): Promise<PromotableDomain[]>;
  /** @throws AppError `limit_reached` beyond LIMITS.overrides.promoted; then nothing was changed */
  promote(names: readonly string[]): Promise<PromotionOutcome>;
  /** Refuses a domain that is not promoted: it was mistyped. */
  demote(names: readonly string[]): Promise<PromotionOutcome>;
}

const NO_DOMAIN = "is no domain below a top-level one";

/** The named domains, each once; those of `names` that `refusalOf` refuses, apart. */
function read(names: readonly string[], refusalOf: (domain: string) => string | null) {
  const domains = new Set<string>();
  const refused: PromotionRefusal[] = [];
  for (const name of names) {
    const domain = readDomainName(name);
    const why = domain === null ? NO_DOMAIN : refusalOf(domain);
    if (why !== null) refused.push({ name, why });
    else if (domain !== null) domains.add(domain);
  }
  return { domains: [...domains], refused };
}

export function createPromotion(deps: { sql: Database; lists: Pick<Lists, "isFree"> }): Promotion {
  const { sql, lists } = deps;
  return {
    promoted: () => readPromoted(sql),

    async candidates() {
      const rows = await readCandidates(sql, LIMITS.overrides.operatorLines);
      return rows.map((row) => ({ ...row, refusal: promotionRefusal(row.domain, lists) }));
    },

    async promote(names) {
      const { domains, refused } = read(names, (domain) => promotionRefusal(domain, lists));
      if (refused.length > 0) return { refused };
      const changed = await sql.begin(async (tx) => {
        await lockPromoted(tx);
        const added = await insertPromoted(tx, domains);
        if ((await countPromoted(tx)) > LIMITS.overrides.promoted)
          throw new AppError("limit_reached", `at most ${LIMITS.overrides.promoted} domains can be promoted`);
        return new Set(added);
      });
      return split(domains, changed);
    },

    async demote(names) {
      const { domains, refused } = read(names, () => null);
      if (refused.length > 0) return { refused };
      return sql.begin(async (tx) => {
        await lockPromoted(tx);
        const there = new Set(await findPromoted(tx, domains));
        const absent = domains.filter((domain) => !there.has(domain));
        if (absent.length > 0) return { refused: absent.map((name) => ({ name, why: "is not promoted" })) };
        await deletePromoted(tx, domains);
        return split(domains, there);
      });
    },
  };
}

function split(domains: string[], changed: ReadonlySet<string>): PromotionOutcome {
  return {
    changed: domains.filter((domain) => changed.has(domain)),
    unchanged: domains.filter((domain) => !changed.has(domain)),
  };
}

import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import type { Actor } from "../identity/actor.ts";
import { type BlocklistRow, deleteBlocked, insertBlocked, listBlocked } from "./blocklist-sql.ts";
import { NOT_A_DOMAIN_DETAIL, readDomainName } from "./domain-name.ts";

export interface BlocklistEntry {
  /** A-labels, lower case. */
  domain: string;
  include_subdomains: boolean;
  created_at: string;
}

/** The domains that a team does not mail: their addresses are answered `risky` without any query. */
export interface Blocklist {
  /** By domain. */
  list(actor: Actor, ask: PageRequest): Promise<Page<BlocklistEntry>>;
  /**
   * In force in this process when it resolves, in every other within a second.
   * @throws AppError `validation_failed` for an invalid domain; `already_blocked`; `limit_reached`
   */
  add(actor: Actor, entry: { domain: string; includeSubdomains: boolean }): Promise<BlocklistEntry>;
  /** @param domain in any spelling that `add` accepts. @throws AppError `not_found` */
  remove(actor: Actor, domain: string): Promise<void>;
}

function render(row: BlocklistRow): BlocklistEntry {
  return {
    domain: row.domain,
    include_subdomains: row.includeSubdomains,
    created_at: row.createdAt.toISOString(),
  };
}

function readDomain(text: string): string {
  const domain = readDomainName(text);
  if (domain !== null) return domain;
  throw new AppError("validation_failed", `domain (body) ${NOT_A_DOMAIN_DETAIL}.`, {
    errors: [{ path: "domain", message: NOT_A_DOMAIN_DETAIL }],
  });
}

export function createBlocklist(deps: { sql: Database; publisher: ChangePublisher }): Blocklist {
  const { sql, publisher } = deps;
  const max = LIMITS.keys.blocklistEntriesPerTeam;
  return {
    async list(actor, ask) {
      const rows = await listBlocked(sql, actor.teamId, { after: ask.after, limit: ask.limit + 1 });
      return pageOf(rows, ask, (row) => row.domain, render);
    },

    async add(actor, { domain: text, includeSubdomains }) {
      const domain = readDomain(text);
      const added = await publisher.transact(async (tx) => {
        await lockActingMember(tx, actor, "admin");
        return insertBlocked(tx, actor.teamId, { domain, includeSubdomains });
      }, actor.teamId);
      if (added === "blocked")
        throw new AppError("already_blocked", `${domain} is already on the blocklist.`);
      if (added === "full") throw new AppError("limit_reached", `A team may block at most ${max} domains.`);
      return render(added);
    },

    async remove(actor, text) {
      const domain = readDomainName(text);
      const removed =
        domain !== null &&
        (await publisher.transact(async (tx) => {
          await lockActingMember(tx, actor, "admin");
          return deleteBlocked(tx, actor.teamId, domain);
        }, actor.teamId));
      if (!removed) throw new AppError("not_found", "This domain is not on the blocklist.");
    },
  };
}

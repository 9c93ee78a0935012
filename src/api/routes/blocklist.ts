import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Blocklist, BlocklistEntry } from "../../features/blocklist/blocklist.ts";
import { PageQuerySchema, pageSuccess, readPageRequest } from "../request/paging.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { named } from "../schemas/fields.ts";

const CHARS = LIMITS.check.addressChars;
const DOMAIN_WORDS =
  "A domain below a top-level one; case, spaces around it and a trailing dot do not matter, and U-labels " +
  "(`münchen.example`) are the same as A-labels (`xn--mnchen-3ya.example`).";

const DomainSchema = v.pipe(
  v.string(),
  v.nonEmpty("must not be empty"),
  v.maxLength(CHARS, `must be at most ${CHARS} characters`),
  v.description(DOMAIN_WORDS),
);

const EntrySchema = named(
  "BlocklistEntry",
  v.object({
    domain: v.pipe(v.string(), v.description("As A-labels, in lower case.")),
    include_subdomains: v.pipe(v.boolean(), v.description("Every domain below it is blocked too.")),
    created_at: v.pipe(v.string(), v.isoTimestamp(), v.description("When it was added.")),
  }),
);

const AddSchema = v.strictObject({
  domain: DomainSchema,
  include_subdomains: v.optional(
    v.pipe(v.boolean(), v.description("Block every domain below it too; true when absent.")),
    true,
  ),
});

const example: BlocklistEntry = {
  domain: "example.com",
  include_subdomains: true,
  created_at: "2026-01-01T00:00:00.000Z",
};

const APPLIES = "A change is in force with the answer, and in every process within a second.";

export function createBlocklistRoutes(blocklist: Blocklist): Route[] {
  return [
    teamRoute({
      method: "GET",
      path: "/v1/blocklist",
      operationId: "listBlocklist",
      summary: "List the blocked domains",
      description:
        "The domains of the team's blocklist, by name. An address of one of them is answered `risky` with the reason " +
        "`blocklisted_domain`; nobody is asked about it.",
      tag: "blocklist",
      role: "member",
      rate: "read",
      errors: [],
      query: PageQuerySchema,
      success: pageSuccess("A page of the blocklist", EntrySchema, [example]),
      handler: ({ query }, actor) => blocklist.list(actor, readPageRequest(query)),
    }),
    teamRoute({
      method: "POST",
      path: "/v1/blocklist",
      operationId: "addToBlocklist",
      summary: "Block a domain",
      description: `${APPLIES} A team may block ${LIMITS.keys.blocklistEntriesPerTeam} domains.`,
      tag: "blocklist",
      role: "admin",
      rate: "write",
      liveOnly: true,
      idempotent: true,
      errors: ["already_blocked", "limit_reached"],
      body: AddSchema,
      bodyExample: { domain: "example.com", include_subdomains: true },
      success: { status: 201, description: "Blocked", schema: EntrySchema, example },
      handler: ({ body }, actor) =>
        blocklist.add(actor, { domain: body.domain, includeSubdomains: body.include_subdomains }),
    }),
    teamRoute({
      method: "DELETE",
      path: "/v1/blocklist/{domain}",
      operationId: "removeFromBlocklist",
      summary: "Unblock a domain",
      description: `${APPLIES} Only the entry of this very domain goes, not those of domains below it.`,
      tag: "blocklist",
      role: "admin",
      rate: "write",
      liveOnly: true,
      errors: ["not_found"],
      params: v.strictObject({ domain: DomainSchema }),
      success: { status: 204, description: "Unblocked", schema: null },
      async handler({ params }, actor) {
        await blocklist.remove(actor, params.domain);
        return null;
      },
    }),
  ];
}

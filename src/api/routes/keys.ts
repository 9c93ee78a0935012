import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { ApiKey, CreatedKey, Keys } from "../../features/teams/keys.ts";
import { PageQuerySchema, pageSuccess, readPageRequest } from "../request/paging.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { roleField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";
import { labelSchema } from "../schemas/label.ts";

const ENVS = ["live", "test"] as const;

const KeyEntries = {
  id: v.string(),
  label: v.pipe(v.string(), v.description("As it was given.")),
  env: v.pipe(v.picklist(ENVS), v.description("`test` keys check nothing and cost nothing.")),
  role: roleField(
    "What the key may do now: the role it was made with, or its user's where that is lower; `member` without a user.",
  ),
  prefix: v.pipe(v.string(), v.description("How the secret begins.")),
  last4: v.pipe(v.string(), v.description("How the secret ends.")),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  created_by: v.pipe(
    v.nullable(v.string()),
    v.description(
      "The user; null once they have left the team: then the key verifies and reads, nothing else.",
    ),
  ),
  last_used_at: v.pipe(
    v.nullable(v.pipe(v.string(), v.isoTimestamp())),
    v.description("To the minute; null: never."),
  ),
};

const KeySchema = named("ApiKey", v.object(KeyEntries));

const CreatedKeySchema = named(
  "CreatedApiKey",
  v.object({
    ...KeyEntries,
    secret: v.pipe(
      v.nullable(v.string()),
      v.description(
        "The key itself, to be sent as the bearer credential. Shown this once: a replay of the answer says null.",
      ),
    ),
  }),
);

const CreateSchema = v.strictObject({
  label: labelSchema("A name for people."),
  env: v.pipe(
    v.picklist(ENVS, "must be live or test"),
    v.description(
      "A `test` key touches neither network, cache nor quota: the local part chooses the outcome.",
    ),
  ),
  role: v.optional(
    roleField(
      "The most the key may ever do; at most the role you act with, and that when absent. It falls with its user's " +
        "role in the team and never rises above this.",
    ),
  ),
});

const example: ApiKey = {
  id: "key_01h455vb4pex5vsknk084sn02q",
  label: "checkout form",
  env: "live",
  role: "member",
  prefix: "rcpt_live_1aB2",
  last4: "x9Yz",
  created_at: "2026-01-01T00:00:00.000Z",
  created_by: "usr_01h455vb4pex5vsknk084sn02r",
  last_used_at: null,
};

const created: CreatedKey = { ...example, secret: "rcpt_live_1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sTx9Yz" };

export function createKeyRoutes(keys: Keys): Route[] {
  return [listRoute(keys), createRoute(keys), revokeRoute(keys)];
}

function listRoute(keys: Keys): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/keys",
    operationId: "listKeys",
    summary: "List the team's keys",
    description: "Newest first. Revoked keys are not listed, and no secret is.",
    tag: "keys",
    role: "member",
    rate: "read",
    errors: [],
    query: PageQuerySchema,
    success: pageSuccess("A page of the keys", KeySchema, [example]),
    handler: ({ query }, actor) => keys.list(actor, readPageRequest(query)),
  });
}

function createRoute(keys: Keys): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/keys",
    operationId: "createKey",
    summary: "Create a key",
    description:
      "The secret is in this answer and nowhere else: what is stored is its hash. The key acts for the user who makes " +
      `it. A team may have ${LIMITS.team.keys} keys.`,
    tag: "keys",
    role: "admin",
    rate: "write",
    liveOnly: true,
    needsUser: true,
    idempotent: true,
    secretField: "secret",
    errors: ["limit_reached"],
    body: CreateSchema,
    bodyExample: { label: example.label, env: example.env, role: example.role },
    success: {
      status: 201,
      description: "The key, with its secret",
      schema: CreatedKeySchema,
      example: created,
    },
    handler: ({ body }, actor) => keys.create(actor, body),
  });
}

function revokeRoute(keys: Keys): Route {
  return teamRoute({
    method: "DELETE",
    path: "/v1/keys/{id}",
    operationId: "revokeKey",
    summary: "Revoke a key",
    description:
      "It lets nobody in any more: in this process with the answer, in every other within a second. An owner's key is " +
      "revoked by owners or by whoever made it.",
    tag: "keys",
    role: "admin",
    rate: "write",
    liveOnly: true,
    errors: ["not_found"],
    params: v.strictObject({ id: v.pipe(v.string(), v.description("The key's, as lists show it.")) }),
    success: { status: 204, description: "Revoked", schema: null },
    async handler({ params }, actor) {
      await keys.revoke(actor, params.id);
      return null;
    },
  });
}

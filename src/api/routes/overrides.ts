import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Override, Overrides } from "../../features/overrides/overrides.ts";
import { AppError } from "../../platform/errors.ts";
import type { ParseLargeBody } from "../body/large-bodies.ts";
import { PageQuerySchema, pageSuccess, readPageRequest } from "../request/paging.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { countField, instantField, named } from "../schemas/fields.ts";
import { DomainSchema, SubmitOverridesSchema } from "../schemas/override.ts";

const { domainsPerRequest, bodyBytes, bodyValues, perTeam } = LIMITS.overrides;

const OverrideSchema = named(
  "DisposableOverride",
  v.object({
    id: v.string(),
    domain: v.pipe(v.string(), v.description("As A-labels, in lower case.")),
    status: v.pipe(
      v.picklist(["pending", "merged"]),
      v.description("`pending` until it counts in the team's verdicts, within minutes."),
    ),
    source: v.pipe(
      v.nullable(v.literal("override")),
      v.description("What `checks.disposable.source` says of the domain; null while pending."),
    ),
    created_at: instantField("When it was submitted."),
    merged_at: v.nullable(instantField("When it was merged.")),
  }),
);

const SubmissionSchema = named(
  "DisposableSubmission",
  v.object({
    accepted: countField("Domains that are new to the team."),
    duplicates: countField("The others: sent twice, or submitted before."),
    data: v.pipe(
      v.array(OverrideSchema),
      v.description("Each domain of the request once, in its order, as it stands now."),
    ),
  }),
);

const PendingSchema = named(
  "PendingOverrides",
  v.object({ pending: countField("Overrides of the team that are not merged yet.") }),
);

const merged: Override = {
  id: "ovr_01h455vb4pex5vsknk084sn02q",
  domain: "throwaway.example",
  status: "merged",
  source: "override",
  created_at: "2026-01-01T00:00:00.000Z",
  merged_at: "2026-01-01T00:00:02.000Z",
};
const pending: Override = { ...merged, status: "pending", source: null, merged_at: null };

/** Common fields of all routes. */
const OWNERS = { tag: "disposable", role: "owner" } as const;

/** The same text as the schema's, while the body still arrives. */
function tooManyDomains(): AppError {
  const message = `must have at most ${domainsPerRequest} items`;
  return new AppError("validation_failed", `domains (body) ${message}.`, {
    errors: [{ path: "domains", message }],
  });
}

function submitRoute(overrides: Overrides, parseLarge: ParseLargeBody): Route {
  return teamRoute({
    ...OWNERS,
    rate: "write",
    method: "POST",
    path: "/v1/admin/disposable",
    operationId: "submitDisposable",
    liveOnly: true,
    summary: "Call domains disposable",
    description:
      "Addresses of these domains, and of those below them, are answered `risky` with the reason " +
      "`disposable_domain` once they are merged: for your team alone. All or nothing; what was submitted before is " +
      `no error. A team may have ${perTeam} overrides.`,
    bodyBytes,
    bodyBounds: { values: bodyValues, tooManyValues: tooManyDomains },
    parseLarge: (bytes, owner) => parseLarge("submitDisposable", bytes, owner),
    errors: ["limit_reached", "unavailable"],
    body: SubmitOverridesSchema,
    bodyExample: { domains: ["throwaway.example", "ten-minutes.example"] },
    success: {
      status: 201,
      description: "Submitted",
      schema: SubmissionSchema,
      example: { accepted: 1, duplicates: 0, data: [pending] },
    },
    handler: ({ body }, actor) => overrides.submit(actor, body.domains),
  });
}

export function createOverrideRoutes(overrides: Overrides, parseLarge: ParseLargeBody): Route[] {
  return [
    submitRoute(overrides, parseLarge),
    teamRoute({
      ...OWNERS,
      rate: "read",
      method: "GET",
      path: "/v1/admin/disposable",
      operationId: "listDisposable",
      summary: "List the team's disposable overrides",
      description: "The domains that your team has submitted, newest first.",
      errors: ["unavailable"],
      query: PageQuerySchema,
      success: pageSuccess("A page of the overrides", OverrideSchema, [pending, merged]),
      handler: ({ query }, actor) => overrides.list(actor, readPageRequest(query)),
    }),
    teamRoute({
      ...OWNERS,
      rate: "read",
      method: "GET",
      path: "/v1/admin/disposable/pending",
      operationId: "countPendingDisposable",
      summary: "Count the overrides that wait",
      errors: ["unavailable"],
      success: {
        status: 200,
        description: "How many overrides of the team are not merged yet",
        schema: PendingSchema,
        example: { pending: 3 },
      },
      handler: async (_, actor) => ({ pending: await overrides.pending(actor) }),
    }),
    teamRoute({
      ...OWNERS,
      rate: "write",
      method: "DELETE",
      path: "/v1/admin/disposable/{domain}",
      operationId: "removeDisposable",
      liveOnly: true,
      summary: "Take an override back",
      description:
        "Pending or merged. In force with the answer, and in every process within a second; what lists, or the " +
        "operator, say of the domain stays.",
      errors: ["not_found", "unavailable"],
      params: v.strictObject({ domain: DomainSchema }),
      success: { status: 204, description: "Taken back", schema: null },
      async handler({ params }, actor) {
        await overrides.remove(actor, params.domain);
        return null;
      },
    }),
  ];
}

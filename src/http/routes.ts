import type { AcceptInvite } from "../services/accounts/accept-invite.ts";
import type { Invites } from "../services/accounts/invites.ts";
import type { OwnAccount } from "../services/accounts/own-account.ts";
import type { PasswordReset } from "../services/accounts/password-reset.ts";
import type { Registration } from "../services/accounts/registration.ts";
import type { SignIn } from "../services/accounts/sign-in.ts";
import type { Billing } from "../services/billing/billing.ts";
import type { BulkJobs } from "../services/bulk/jobs.ts";
import type { Overrides } from "../services/overrides/overrides.ts";
import type { Blocklist } from "../services/teams/blocklist.ts";
import type { Keys } from "../services/teams/keys.ts";
import type { Members } from "../services/teams/members.ts";
import type { Team } from "../services/teams/team.ts";
import type { Uploads } from "../services/uploads/uploads.ts";
import type { Usage } from "../services/usage/usage.ts";
import type { EarlyAdmission } from "../services/verify/early-admission.ts";
import type { VerifyAddress } from "../services/verify/verify-address.ts";
import type { WebhookDeliveries } from "../services/webhooks/deliveries.ts";
import type { Webhooks } from "../services/webhooks/webhooks.ts";
import type { ParseLargeBody } from "./large-bodies.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { createOpenApiDocument } from "./openapi/openapi.ts";
import type { Route } from "./route.ts";
import { createAuthRoutes } from "./routes/auth.ts";
import { createBillingRoutes } from "./routes/billing.ts";
import { createBlocklistRoutes } from "./routes/blocklist.ts";
import { createBulkRoutes } from "./routes/bulk.ts";
import { createDocsRoutes } from "./routes/docs.ts";
import { createInviteRoutes } from "./routes/invites.ts";
import { createKeyRoutes } from "./routes/keys.ts";
import { createMemberRoutes } from "./routes/members.ts";
import { createHealthRoute, createOpenApiRoute, createReadinessRoute } from "./routes/operations.ts";
import { createOverrideRoutes } from "./routes/overrides.ts";
import { createPasswordResetRoutes } from "./routes/password-reset.ts";
import { createPortalPageRoutes } from "./routes/portal-pages.ts";
import { createTeamRoutes } from "./routes/team.ts";
import { createUploadRoutes } from "./routes/uploads.ts";
import { createUsageRoutes } from "./routes/usage.ts";
import { createVerifyRoute } from "./routes/verify.ts";
import { createWebhookDeliveryRoutes } from "./routes/webhook-deliveries.ts";
import { createWebhookRoutes } from "./routes/webhooks.ts";
import type { Readiness } from "./schemas.ts";

export interface RouteDeps {
  verify: VerifyAddress;
  earlyAdmission: Pick<EarlyAdmission, "mayRefuse" | "refusal" | "enter">;
  bulk: BulkJobs;
  uploads: Uploads;
  usage: Usage;
  keys: Keys;
  team: Team;
  members: Members;
  blocklist: Blocklist;
  overrides: Overrides;
  billing: Billing;
  webhooks: Webhooks;
  webhookDeliveries: WebhookDeliveries;
  registration: Registration;
  signIn: SignIn;
  ownAccount: OwnAccount;
  passwordReset: PasswordReset;
  invites: Invites;
  acceptInvite: AcceptInvite;
  readiness(): MaybePromise<Readiness>;
  parseLarge: ParseLargeBody;
  /** The base address of the API for its own description; null: wherever the document was read from. */
  publicUrl: string | null;
}

/** Every route of the API: what the server runs on and what `/openapi.json` describes. */
export function createRoutes(deps: RouteDeps): Route[] {
  const routes: Route[] = [
    createVerifyRoute(deps.verify, deps.earlyAdmission),
    ...createUploadRoutes(deps.uploads),
    ...createBulkRoutes(deps.bulk, deps.parseLarge),
    ...createUsageRoutes(deps.usage),
    ...createAuthRoutes(deps),
    ...createPasswordResetRoutes(deps.passwordReset),
    ...createKeyRoutes(deps.keys),
    ...createTeamRoutes(deps.team),
    ...createMemberRoutes(deps.members),
    ...createInviteRoutes(deps),
    ...createBlocklistRoutes(deps.blocklist),
    ...createOverrideRoutes(deps.overrides, deps.parseLarge),
    ...createBillingRoutes(deps.billing),
    ...createWebhookRoutes(deps.webhooks),
    ...createWebhookDeliveryRoutes(deps.webhookDeliveries),
    createHealthRoute(),
    createReadinessRoute(() => deps.readiness()),
    createOpenApiRoute(() => JSON.stringify(createOpenApiDocument(routes, deps.publicUrl))),
    ...createDocsRoutes(),
    ...createPortalPageRoutes(),
  ];
  return routes;
}

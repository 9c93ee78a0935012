import type { AcceptInvite } from "../../features/accounts/accept-invite.ts";
import type { Invites } from "../../features/accounts/invites.ts";
import type { OwnAccount } from "../../features/accounts/own-account.ts";
import type { PasswordReset } from "../../features/accounts/password-reset.ts";
import type { Registration } from "../../features/accounts/registration.ts";
import type { SignIn } from "../../features/accounts/sign-in.ts";
import type { SignInOptions } from "../../features/accounts/sign-in-options.ts";
import type { Billing } from "../../features/billing/billing.ts";
import type { Plan } from "../../features/billing/plans.ts";
import type { Blocklist } from "../../features/blocklist/blocklist.ts";
import type { BulkJobs } from "../../features/bulk/jobs/jobs.ts";
import type { Feedback } from "../../features/feedback/feedback.ts";
import type { ReadDeploymentStatus } from "../../features/operator/deployment-status.ts";
import type { Overrides } from "../../features/overrides/overrides.ts";
import type { Keys } from "../../features/teams/keys.ts";
import type { Members } from "../../features/teams/members.ts";
import type { Team } from "../../features/teams/team.ts";
import type { Uploads } from "../../features/uploads/uploads.ts";
import type { Usage } from "../../features/usage/usage.ts";
import type { EarlyAdmission } from "../../features/verify/answer/early-admission.ts";
import type { VerifyAddress } from "../../features/verify/answer/verify-address.ts";
import type { WebhookDeliveries } from "../../features/webhooks/deliveries.ts";
import type { Webhooks } from "../../features/webhooks/webhooks.ts";
import type { ParseLargeBody } from "../body/large-bodies.ts";
import { createOpenApiDocument } from "../openapi/openapi.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import { createAuthRoutes } from "../routes/auth.ts";
import { createBillingRoutes } from "../routes/billing.ts";
import { createBlocklistRoutes } from "../routes/blocklist.ts";
import { createBulkRoutes } from "../routes/bulk.ts";
import { createDeploymentRoute } from "../routes/deployment.ts";
import { createDocsRoutes } from "../routes/docs.ts";
import { createFeedbackRoutes } from "../routes/feedback.ts";
import { createInviteRoutes } from "../routes/invites.ts";
import { createKeyRoutes } from "../routes/keys.ts";
import { createMemberRoutes } from "../routes/members.ts";
import { createHealthRoute, createOpenApiRoute, createReadinessRoute } from "../routes/operations.ts";
import { createOverrideRoutes } from "../routes/overrides.ts";
import { createPasswordResetRoutes } from "../routes/password-reset.ts";
import { createPlansRoute } from "../routes/plans.ts";
import { createPortalRoutes } from "../routes/portal.ts";
import { createTeamRoutes } from "../routes/team.ts";
import { createUploadRoutes } from "../routes/uploads.ts";
import { createUsageRoutes } from "../routes/usage.ts";
import { createVerifyRoute } from "../routes/verify.ts";
import { createWebhookDeliveryRoutes } from "../routes/webhook-deliveries.ts";
import { createWebhookRoutes } from "../routes/webhooks.ts";
import type { Readiness } from "../schemas/health.ts";
import type { Route } from "./route.ts";

export interface RouteDeps {
  verify: VerifyAddress;
  earlyAdmission: Pick<EarlyAdmission, "mayRefuse" | "refusal" | "enter">;
  bulk: BulkJobs;
  uploads: Uploads;
  usage: Usage;
  feedback: Feedback;
  keys: Keys;
  team: Team;
  members: Members;
  blocklist: Blocklist;
  overrides: Overrides;
  billing: Billing;
  plans: readonly Plan[];
  webhooks: Webhooks;
  webhookDeliveries: WebhookDeliveries;
  registration: Registration;
  signIn: SignIn;
  ownAccount: OwnAccount;
  passwordReset: PasswordReset;
  invites: Invites;
  acceptInvite: AcceptInvite;
  signInOptions: SignInOptions;
  deploymentStatus: ReadDeploymentStatus;
  readiness(): MaybePromise<Readiness>;
  parseLarge: ParseLargeBody;
  /** The base address of the API for its own description; null: wherever the document was read from. */
  publicUrl: string | null;
}

/** Every route of the API: the server runs them, and `/openapi.json` describes them. */
export function createRoutes(deps: RouteDeps): Route[] {
  const routes: Route[] = [
    createVerifyRoute(deps.verify, deps.earlyAdmission),
    ...createUploadRoutes(deps.uploads),
    ...createBulkRoutes(deps.bulk, deps.parseLarge),
    ...createUsageRoutes(deps.usage),
    ...createFeedbackRoutes(deps.feedback, deps.parseLarge),
    ...createAuthRoutes(deps),
    ...createPasswordResetRoutes(deps.passwordReset),
    ...createKeyRoutes(deps.keys),
    ...createTeamRoutes(deps.team),
    ...createMemberRoutes(deps.members),
    ...createInviteRoutes(deps),
    ...createBlocklistRoutes(deps.blocklist),
    ...createOverrideRoutes(deps.overrides, deps.parseLarge),
    ...createBillingRoutes(deps.billing),
    createPlansRoute(deps.plans),
    ...createWebhookRoutes(deps.webhooks),
    ...createWebhookDeliveryRoutes(deps.webhookDeliveries),
    createDeploymentRoute(deps.deploymentStatus),
    createHealthRoute(),
    createReadinessRoute(() => deps.readiness()),
    createOpenApiRoute(() => JSON.stringify(createOpenApiDocument(routes, deps.publicUrl))),
    ...createDocsRoutes(deps),
    ...createPortalRoutes(deps),
  ];
  return routes;
}

import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { REGISTRATIONS } from "../../config/settings.ts";
import { TIER_LIMITS } from "../../config/tiers.ts";
import type { Identity, OwnAccount } from "../../features/accounts/own-account.ts";
import type { Registration } from "../../features/accounts/registration.ts";
import type { SignIn } from "../../features/accounts/sign-in.ts";
import type { SignInOptions } from "../../features/accounts/sign-in-options.ts";
import { teamLimits } from "../../features/identity/team-limits.ts";
import { signedInReply, signedOutReply } from "../reply/signed-in.ts";
import { type PublicRoute, publicRoute, type Route, teamRoute } from "../routing/route.ts";
import { roleField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";
import {
  emailSchema,
  newPasswordSchema,
  PortalTeamSchema,
  passwordSchema,
  SignedInSchema,
  signedInExample,
  UserSchema,
} from "../schemas/portal.ts";
import { limitFields } from "../schemas/team-limits.ts";
import { createRegistrationRoutes } from "./registration.ts";

const LoginSchema = v.strictObject({
  email: emailSchema("The address of the account, in any case."),
  password: passwordSchema("Its password."),
  team_id: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(100, "must be at most 100 characters"),
      v.description("Which of the user's teams the session is for; when absent the one joined first."),
    ),
  ),
});

const PasswordSchema = v.strictObject({
  current_password: v.optional(passwordSchema("Required when the account has one.")),
  new_password: newPasswordSchema,
});

const IdentitySchema = named(
  "Identity",
  v.object({
    user: v.pipe(v.nullable(UserSchema), v.description("null: the user of the key has left the team.")),
    team: v.pipe(PortalTeamSchema, v.description("The team of the credential.")),
    role: roleField("What the credential may do in the team."),
    credential: v.pipe(
      v.object({
        type: v.pipe(v.picklist(["session", "api_key"]), v.description("Of a person, or of a program.")),
        id: v.pipe(v.string(), v.description("`sess_…` or `key_…`")),
      }),
      v.description("What the request was made with."),
    ),
    limits: v.pipe(
      v.object(limitFields),
      v.description("In force for the team: its tier's, with what the operator has changed for it."),
    ),
    operator: v.pipe(v.boolean(), v.description("The team runs the deployment: see `GET /v1/deployment`.")),
    teams: v.pipe(
      v.array(PortalTeamSchema),
      v.description(
        `All teams of the user, ${LIMITS.portal.teamsListed} at most; a key is told of its own only.`,
      ),
    ),
  }),
);

const identityExample: Identity = {
  user: signedInExample.user,
  team: signedInExample.team,
  role: "owner",
  credential: { type: "session", id: "sess_01h455vb4pex5vsknk084sn02s" },
  limits: teamLimits(TIER_LIMITS[signedInExample.team.tier]),
  operator: false,
  teams: [signedInExample.team],
};

const SignInOptionsSchema = named(
  "SignInOptions",
  v.object({
    registration: v.pipe(
      v.picklist(REGISTRATIONS),
      v.description("`open`: anybody may; `invite`: only with an invitation; `closed`: not at all."),
    ),
    password_reset: v.pipe(v.boolean(), v.description("A forgotten password can be replaced, by mail.")),
  }),
);

function optionsRoute(options: SignInOptions): PublicRoute {
  return publicRoute({
    method: "GET",
    path: "/v1/auth/options",
    operationId: "getSignInOptions",
    summary: "What is offered without signing in?",
    tag: "auth",
    rate: "client",
    errors: [],
    success: {
      status: 200,
      description: "What this deployment offers",
      schema: SignInOptionsSchema,
      example: { registration: "open", password_reset: true },
    },
    handler: () => options,
  });
}

/** Public routes that start a session. */
function entryRoutes(signIn: SignIn): Route[] {
  return [
    publicRoute({
      method: "POST",
      path: "/v1/auth/login",
      operationId: "login",
      summary: "Sign in",
      description:
        "Begins a session in one team. The refusal is the same for an unknown account, a wrong password and no team. " +
        "Failures are counted by account and client address.",
      tag: "auth",
      rate: "client",
      readsClientAddress: true,
      errors: ["invalid_credentials", "rate_limited"],
      body: LoginSchema,
      bodyExample: { email: "owner@example.com", password: "correct horse battery" },
      success: { status: 200, description: "Signed in", schema: SignedInSchema, example: signedInExample },
      async handler({ body }, context) {
        const credentials = { email: body.email, password: body.password, teamId: body.team_id ?? null };
        return signedInReply(200, await signIn.login(credentials, context.clientAddress), context);
      },
    }),
  ];
}

function ownRoutes(account: OwnAccount): Route[] {
  return [
    teamRoute({
      method: "POST",
      path: "/v1/auth/logout",
      operationId: "logout",
      summary: "Sign out",
      description: "Ends the session that it is called with, everywhere within a second.",
      tag: "auth",
      role: "member",
      rate: "write",
      errors: ["session_required"],
      success: { status: 204, description: "Ended", schema: null },
      async handler(_input, actor, context) {
        await account.logout(actor);
        return signedOutReply(context);
      },
    }),
    teamRoute({
      method: "GET",
      path: "/v1/auth/me",
      operationId: "getMe",
      summary: "Who am I?",
      description: "The user, the team, the role and the limits behind a session or a key.",
      tag: "auth",
      role: "member",
      rate: "read",
      errors: [],
      success: {
        status: 200,
        description: "Who asks",
        schema: IdentitySchema,
        example: identityExample,
      },
      handler: (_input, actor) => account.me(actor),
    }),
    teamRoute({
      method: "POST",
      path: "/v1/auth/password",
      operationId: "changePassword",
      summary: "Change the password",
      description: "Ends all other sessions of the user, and makes links for a new password unusable.",
      tag: "auth",
      role: "member",
      rate: "write",
      readsClientAddress: true,
      errors: ["session_required", "invalid_credentials", "rate_limited"],
      body: PasswordSchema,
      bodyExample: { current_password: "correct horse battery", new_password: "another long password" },
      success: { status: 204, description: "Changed", schema: null },
      async handler({ body }, actor, { clientAddress }) {
        const change = { current: body.current_password ?? null, next: body.new_password };
        await account.changePassword(actor, change, clientAddress);
        return null;
      },
    }),
  ];
}

export function createAuthRoutes(deps: {
  registration: Registration;
  signIn: SignIn;
  ownAccount: OwnAccount;
  signInOptions: SignInOptions;
}): Route[] {
  return [
    optionsRoute(deps.signInOptions),
    ...createRegistrationRoutes(deps.registration),
    ...entryRoutes(deps.signIn),
    ...ownRoutes(deps.ownAccount),
  ];
}

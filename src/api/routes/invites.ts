import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { AcceptInvite } from "../../features/accounts/accept-invite.ts";
import type { Invite, Invites } from "../../features/accounts/invites.ts";
import { signedInReply } from "../reply/signed-in.ts";
import { PageQuerySchema, pageSuccess, readPageRequest } from "../request/paging.ts";
import { publicRoute, type Route, teamRoute } from "../routing/route.ts";
import { roleField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";
import {
  emailSchema,
  instantSchema,
  passwordSchema,
  SignedInSchema,
  signedInExample,
  tokenSchema,
} from "../schemas/portal.ts";

const inviteEntries = {
  id: v.pipe(v.string(), v.description("The invitation's, `inv_…`.")),
  email: v.pipe(v.string(), v.description("Who is invited.")),
  role: roleField("What they will be."),
  status: v.pipe(v.literal("pending"), v.description("Invitations that were accepted are members.")),
  created_at: instantSchema("When they were invited."),
  expires_at: instantSchema("Until when it can be accepted."),
};

const InviteSchema = named("Invitation", v.object(inviteEntries));

const NewInvitationSchema = named(
  "CreatedInvitation",
  v.object({
    ...inviteEntries,
    token: v.pipe(
      v.string(),
      v.description(
        "For `POST /v1/auth/accept-invite`; where mail is set up, not that of the mail. Shown once.",
      ),
    ),
    link: v.pipe(
      v.string(),
      v.description("The same as a link, with the address and the team for the page to show. Shown once."),
    ),
    mailed: v.pipe(
      v.boolean(),
      v.description("false: no mail is sent, or this address was sent too many today; hand the link on."),
    ),
  }),
);

const example: Invite = {
  id: "inv_01h455vb4pex5vsknk084sn02v",
  email: "colleague@example.com",
  role: "member",
  status: "pending",
  created_at: "2026-01-01T00:00:00.000Z",
  expires_at: "2026-01-08T00:00:00.000Z",
};

const CreateSchema = v.strictObject({
  email: emailSchema("Whom to invite."),
  role: v.optional(
    roleField("What they will be; only an owner invites an owner. `member` when absent."),
    "member",
  ),
});

const AcceptSchema = v.strictObject({
  token: tokenSchema,
  password: v.optional(
    passwordSchema(
      "Of the invited address's account, unless a session of it came along; or for the account, when there is none.",
    ),
  ),
});

function inviteRoute(invites: Invites): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/team/invites",
    operationId: "createInvite",
    summary: "Invite an address",
    description:
      "Good for one use within seven days, as long as whoever made it may make it; mailed where the operator has set " +
      "up mail, and answered in any case. Where it is mailed the token answered lets an account that exists join; only " +
      "the mail's makes an account, since it proves the address. To invite an address again replaces its invitation. A team may have " +
      `${LIMITS.portal.invitesPerTeam} open ones. One address is mailed ${LIMITS.portal.inviteMailsPerRecipient} ` +
      "times a day at most, by all teams together; a team of the tier free sends " +
      `${LIMITS.portal.inviteMailsOfFreeTeam} mails a day.`,
    tag: "team",
    role: "admin",
    rate: "write",
    liveOnly: true,
    errors: ["already_member", "limit_reached", "rate_limited"],
    body: CreateSchema,
    bodyExample: { email: "colleague@example.com", role: "member" },
    success: {
      status: 201,
      description: "Invited",
      schema: NewInvitationSchema,
      example: {
        ...example,
        token: "rcpt_inv_…",
        link: "https://rcpt.example.com/accept-invite#token=rcpt_inv_…&email=colleague%40example.com&team=Example",
        mailed: true,
      },
    },
    handler: ({ body }, actor) => invites.create(actor, body),
  });
}

function teamRoutes(invites: Invites): Route[] {
  return [
    teamRoute({
      method: "GET",
      path: "/v1/team/invites",
      operationId: "listInvites",
      summary: "List the open invitations",
      description: "Newest first. What was accepted, withdrawn or has expired is not listed.",
      tag: "team",
      role: "admin",
      rate: "read",
      errors: [],
      query: PageQuerySchema,
      success: pageSuccess("A page of invitations", InviteSchema, [example]),
      handler: ({ query }, actor) => invites.list(actor, readPageRequest(query)),
    }),
    inviteRoute(invites),
    teamRoute({
      method: "DELETE",
      path: "/v1/team/invites/{id}",
      operationId: "cancelInvite",
      summary: "Withdraw an invitation",
      description:
        "Its token is worth nothing from then on, and a mail of it that waits is not sent. Only an owner withdraws the " +
        "invitation of an owner.",
      tag: "team",
      role: "admin",
      rate: "write",
      liveOnly: true,
      errors: ["not_found"],
      params: v.strictObject({ id: v.pipe(v.string(), v.description("The invitation's, `inv_…`.")) }),
      success: { status: 204, description: "Withdrawn", schema: null },
      async handler({ params }, actor) {
        await invites.cancel(actor, params.id);
        return null;
      },
    }),
  ];
}

function createAcceptRoute(accept: AcceptInvite): Route {
  return publicRoute({
    method: "POST",
    path: "/v1/auth/accept-invite",
    operationId: "acceptInvite",
    summary: "Accept an invitation",
    description:
      "Makes the account of the invited address a member of the team, and begins a session there. An account that " +
      "exists is proven by its session as bearer credential or by its password; else it is made, with the password: where " +
      "mail is set up by the token of the mail alone. The refusal is the same whether there is an account or not.",
    tag: "auth",
    rate: "client",
    readsClientAddress: true,
    mayAuthenticate: true,
    errors: [
      "invalid_credentials",
      "session_required",
      "registration_closed",
      "already_member",
      "account_exists",
      "limit_reached",
      "token_unusable",
      "rate_limited",
    ],
    body: AcceptSchema,
    bodyExample: { token: "rcpt_inv_…", password: "correct horse battery" },
    success: { status: 200, description: "Joined", schema: SignedInSchema, example: signedInExample },
    async handler({ body }, context) {
      const { actor, clientAddress } = context;
      const invitation = { token: body.token, password: body.password ?? null, actor, clientAddress };
      return signedInReply(200, await accept(invitation), context);
    },
  });
}

export function createInviteRoutes(deps: { invites: Invites; acceptInvite: AcceptInvite }): Route[] {
  return [...teamRoutes(deps.invites), createAcceptRoute(deps.acceptInvite)];
}

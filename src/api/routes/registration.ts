import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Registration } from "../../features/accounts/registration.ts";
import { HttpReply } from "../reply/reply.ts";
import { signedInReply } from "../reply/signed-in.ts";
import { publicRoute, type Route } from "../routing/route.ts";
import { named } from "../schemas/fields.ts";
import { labelSchema } from "../schemas/label.ts";
import {
  emailSchema,
  newPasswordSchema,
  passwordSchema,
  SignedInSchema,
  signedInExample,
  tokenSchema,
} from "../schemas/portal.ts";

const RegisterSchema = v.strictObject({
  email: emailSchema("The address of the account, in any case."),
  password: newPasswordSchema,
  team_name: labelSchema("The name of the new team."),
});

const SentSchema = named(
  "ConfirmationSent",
  v.object({
    status: v.pipe(
      v.literal("confirmation_sent"),
      v.description("A mail goes to the address. Says nothing of whether there is an account."),
    ),
    email: v.pipe(v.string(), v.description("The address, its domain as A-labels.")),
  }),
);

const HOURS = LIMITS.portal.registrationTtlMs / 3_600_000;

function registerRoute(registration: Registration): Route {
  return publicRoute({
    method: "POST",
    path: "/v1/auth/register",
    operationId: "register",
    summary: "Make an account and a team",
    description:
      "Makes an account, and a team of the tier free with it as owner. Where the operator allows it. Where mail is sent " +
      "the address is confirmed first: the answer is 202, the same whether it has an account or not, and a mail brings " +
      `a link for the next ${HOURS} hours, or says that there is an account. Elsewhere the answer is 201 with a session, ` +
      "and 409 for an address that has an account. An account whose teams have all gone is given such a team, for its " +
      "password.",
    tag: "auth",
    rate: "client",
    readsClientAddress: true,
    errors: ["registration_closed", "account_exists", "rate_limited"],
    body: RegisterSchema,
    bodyExample: { email: "owner@example.com", password: "correct horse battery", team_name: "Example" },
    success: {
      status: 201,
      description: "Made (where no mail is sent)",
      schema: SignedInSchema,
      example: signedInExample,
    },
    alternatives: [
      {
        status: 202,
        description: "Noted: the address is to be confirmed by the link that is mailed to it",
        schema: SentSchema,
        example: { status: "confirmation_sent", email: "owner@example.com" },
      },
    ],
    async handler({ body }, context) {
      const account = { email: body.email, password: body.password, teamName: body.team_name };
      const registered = await registration.register(account, context.clientAddress);
      if ("made" in registered) return signedInReply(201, registered.made, context);
      const sent: v.InferOutput<typeof SentSchema> = {
        status: "confirmation_sent",
        email: registered.mailedTo,
      };
      return new HttpReply(202, JSON.stringify(sent));
    },
  });
}

function confirmRoute(registration: Registration): Route {
  return publicRoute({
    method: "POST",
    path: "/v1/auth/register/confirm",
    operationId: "confirmRegistration",
    summary: "Confirm an address",
    description:
      "Makes the account and the team of a registration, and begins a session: with the token of the mailed link, once, " +
      "and the password of the registration, so that nobody comes by an account whose password somebody else chose.",
    tag: "auth",
    rate: "client",
    readsClientAddress: true,
    errors: [
      "registration_closed",
      "invalid_credentials",
      "account_exists",
      "token_unusable",
      "rate_limited",
    ],
    body: v.strictObject({
      token: tokenSchema,
      password: passwordSchema("The one that was registered with."),
    }),
    bodyExample: { token: "rcpt_reg_…", password: "correct horse battery" },
    success: { status: 201, description: "Made", schema: SignedInSchema, example: signedInExample },
    async handler({ body }, context) {
      const confirmed = await registration.confirm(body.token, body.password, context.clientAddress);
      return signedInReply(201, confirmed, context);
    },
  });
}

export function createRegistrationRoutes(registration: Registration): Route[] {
  return [registerRoute(registration), confirmRoute(registration)];
}

import * as v from "valibot";
import type { PasswordReset } from "../../features/accounts/password-reset.ts";
import { publicRoute, type Route } from "../routing/route.ts";
import { named } from "../schemas/fields.ts";
import { emailSchema, newPasswordSchema, tokenSchema } from "../schemas/portal.ts";

const RequestedSchema = named(
  "PasswordResetRequested",
  v.object({
    status: v.pipe(v.literal("accepted"), v.description("Says nothing of whether there is an account.")),
  }),
);
const REQUESTED = { status: "accepted" } as const;

export function createPasswordResetRoutes(reset: PasswordReset): Route[] {
  return [
    publicRoute({
      method: "POST",
      path: "/v1/auth/password-reset",
      operationId: "requestPasswordReset",
      summary: "Ask for a new password",
      description:
        "Mails a link when the address has an account. The answer is the same whether it has one or not.",
      tag: "auth",
      rate: "client",
      readsClientAddress: true,
      errors: ["feature_unconfigured", "rate_limited"],
      body: v.strictObject({ email: emailSchema("The address of the account, in any case.") }),
      bodyExample: { email: "owner@example.com" },
      success: { status: 202, description: "Noted", schema: RequestedSchema, example: REQUESTED },
      async handler({ body }, { clientAddress }) {
        await reset.request(body.email, clientAddress);
        return REQUESTED;
      },
    }),
    publicRoute({
      method: "POST",
      path: "/v1/auth/password-reset/confirm",
      operationId: "confirmPasswordReset",
      summary: "Choose a new password",
      description: "With the token of a mailed link: once, and soon. Ends all sessions of the user.",
      tag: "auth",
      rate: "client",
      readsClientAddress: true,
      errors: ["token_unusable"],
      body: v.strictObject({ token: tokenSchema, new_password: newPasswordSchema }),
      bodyExample: { token: "rcpt_pwr_…", new_password: "another long password" },
      success: { status: 204, description: "Changed", schema: null },
      async handler({ body }, { clientAddress }) {
        await reset.confirm(body.token, body.new_password, clientAddress);
        return null;
      },
    }),
  ];
}

import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { passwordFault } from "../../features/accounts/password.ts";
import type { SignedIn } from "../../features/accounts/portal-session.ts";
import { roleField, tierField } from "./enums.ts";
import { named } from "./fields.ts";

const EMAIL_CHARS = LIMITS.check.addressChars;
/** Maximum length of a password that is read. No accepted password is longer. */
const SECRET_CHARS = 2_000;
const { passwordCharsMin, passwordCharsMax } = LIMITS.portal;

/** Bounded text; whether it is an address is for the service to say. */
export const emailSchema = (description: string) =>
  v.pipe(
    v.string(),
    v.nonEmpty("must not be empty"),
    v.maxLength(EMAIL_CHARS, `must be at most ${EMAIL_CHARS} characters`),
    v.description(description),
  );

export const newPasswordSchema = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? passwordFault(dataset.value) : null;
    if (fault !== null) addIssue({ message: fault });
  }),
  v.description(
    `${passwordCharsMin} to ${passwordCharsMax} characters of any kind; compatibility forms count as the same (NFKC). ` +
      "Common passwords, simple patterns and names of the account are refused.",
  ),
);

/** A password to be checked, right or wrong. */
export const passwordSchema = (description: string) =>
  v.pipe(
    v.string(),
    v.maxLength(SECRET_CHARS, `must be at most ${SECRET_CHARS} characters`),
    v.description(description),
  );

export const tokenSchema = v.pipe(
  v.string(),
  v.maxLength(SECRET_CHARS, `must be at most ${SECRET_CHARS} characters`),
  v.description("From the link: what stands behind `token=`."),
);

export const UserSchema = named(
  "User",
  v.object({
    id: v.pipe(v.string(), v.description("`usr_…`")),
    email: v.pipe(v.string(), v.description("The address of the account, its domain as A-labels.")),
  }),
);

/** An instant, ISO 8601 in UTC. */
export const instantSchema = (description: string) =>
  v.pipe(v.string(), v.isoTimestamp(), v.description(description));

export const PortalTeamSchema = named(
  "OwnTeam",
  v.object({
    id: v.pipe(v.string(), v.description("`team_…`")),
    name: v.pipe(v.string(), v.description("As its admins have named it.")),
    tier: tierField("What it may do, and how much."),
    role: roleField("The user's in this team."),
  }),
);

export const SignedInSchema = named(
  "SignedIn",
  v.object({
    user: v.pipe(UserSchema, v.description("Who signed in.")),
    team: v.pipe(PortalTeamSchema, v.description("Which team the session is for.")),
    session: v.pipe(
      v.object({
        token: v.pipe(
          v.nullable(v.string()),
          v.description(
            "The bearer credential of the portal. Shown once. null: it is in the portal's cookie.",
          ),
        ),
        expires_at: instantSchema("When it ends by itself."),
      }),
      v.description("The session that has begun."),
    ),
  }),
);

export const signedInExample: SignedIn = {
  user: { id: "usr_01h455vb4pex5vsknk084sn02r", email: "owner@example.com" },
  team: { id: "team_01h455vb4pex5vsknk084sn02t", name: "Example", tier: "free", role: "owner" },
  session: { token: "rcpt_sess_…", expires_at: "2026-01-31T00:00:00.000Z" },
};

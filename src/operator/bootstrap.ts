import * as v from "valibot";
import { labelSchema } from "../api/schemas/label.ts";
import { readEmail } from "../features/identity/email-address.ts";
import type { BootstrapInput, Bootstrapped } from "../features/teams/bootstrap.ts";
import { parseCommandLine, parseTier, runCommand, type Terminal, UsageError } from "./command.ts";

const BOOTSTRAP_USAGE =
  "usage: npm run bootstrap -- --email ADDRESS --team NAME --tier TIER [--operator] [--existing-user] [--json]; " +
  "with --operator the team may read the state of the deployment; " +
  "with --existing-user an existing, unverified account of the address becomes the owner";

interface BootstrapArgs extends BootstrapInput {
  json: boolean;
}

const OPTIONS = {
  email: { type: "string" },
  team: { type: "string" },
  tier: { type: "string" },
  operator: { type: "boolean", default: false },
  "existing-user": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

function required(name: string, value: string | undefined): string {
  const text = value?.trim() ?? "";
  if (text === "") throw new UsageError(`--${name} is required (${BOOTSTRAP_USAGE})`);
  return text;
}

/** The same names as the API accepts: they are shown in mails and on the operator's terminal. */
function teamNameOf(text: string): string {
  const read = v.safeParse(labelSchema("The team's name."), text);
  if (read.success) return read.output;
  throw new UsageError(`--team ${read.issues[0].message}`);
}

/** @throws UsageError one line that names the error. */
function parseBootstrapArgs(argv: string[]): BootstrapArgs {
  const { values } = parseCommandLine({ args: argv, options: OPTIONS }, BOOTSTRAP_USAGE);
  const email = readEmail(required("email", values.email));
  if (email === null) throw new UsageError("--email must be an email address");
  return {
    email,
    team: teamNameOf(required("team", values.team)),
    tier: parseTier("--tier", required("tier", values.tier)),
    operator: values.operator,
    existingUser: values["existing-user"],
    json: values.json,
  };
}

/** The text for standard output: with `json` one object on one line, else lines for people. */
function formatBootstrapped(made: Bootstrapped, json: boolean): string {
  if (json)
    return `${JSON.stringify({
      team_id: made.teamId,
      user_id: made.userId,
      session_token: made.sessionToken,
      live_key: made.liveKey,
      test_key: made.testKey,
    })}\n`;
  return [
    `team           ${made.teamId}`,
    `user           ${made.userId}`,
    `session token  ${made.sessionToken}`,
    `live key       ${made.liveKey}`,
    `test key       ${made.testKey}`,
    "These secrets are shown this once: only their hashes are stored.",
    "",
  ].join("\n");
}

export interface BootstrapCommand extends Terminal {
  argv: string[];
  /** Opens the database only when the arguments are valid. */
  run(input: BootstrapInput): Promise<Bootstrapped>;
}

/** The command `bootstrap`; the exit code: 0 done, 2 wrong arguments. The caller reports other failures. */
export function runBootstrap(command: BootstrapCommand): Promise<number> {
  return runCommand("bootstrap", command, async () => {
    const args = parseBootstrapArgs(command.argv);
    return formatBootstrapped(await command.run(args), args.json);
  });
}

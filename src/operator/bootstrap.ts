import { parseArgs } from "node:util";
import { TIERS, type Tier } from "../core/tiers.ts";
import type { BootstrapInput, Bootstrapped } from "../services/bootstrap.ts";

export const BOOTSTRAP_USAGE = "usage: npm run bootstrap -- --email ADDRESS --team NAME --tier TIER [--json]";

/** What was typed cannot be used. `message` is one line. */
class UsageError extends Error {
  override name = "UsageError";
}

interface BootstrapArgs extends BootstrapInput {
  json: boolean;
}

const OPTIONS = {
  email: { type: "string" },
  team: { type: "string" },
  tier: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

function parse(argv: string[]) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split("\n")[0]} (${BOOTSTRAP_USAGE})`);
  }
}

function required(name: string, value: string | undefined): string {
  const text = value?.trim() ?? "";
  if (text === "") throw new UsageError(`--${name} is required (${BOOTSTRAP_USAGE})`);
  return text;
}

function tierOf(text: string): Tier {
  const tier = TIERS.find((name) => name === text);
  if (!tier) throw new UsageError(`--tier must be one of ${TIERS.join(", ")}, not ${text}`);
  return tier;
}

/** @throws UsageError one line that names what is wrong. */
function parseBootstrapArgs(argv: string[]): BootstrapArgs {
  const values = parse(argv);
  const email = required("email", values.email);
  if (!/^[^\s@]{1,64}@[^\s@]{1,253}$/.test(email)) throw new UsageError("--email must be an email address");
  const team = required("team", values.team);
  if (team.length > 200) throw new UsageError("--team must have at most 200 characters");
  return { email, team, tier: tierOf(required("tier", values.tier)), json: values.json };
}

/** What goes to standard output: with `json` one object on one line, else lines for people. */
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

export interface BootstrapCommand {
  argv: string[];
  /** Opens the database only when the arguments are right. */
  run(input: BootstrapInput): Promise<Bootstrapped>;
  stdout(text: string): void;
  stderr(text: string): void;
}

/** The command `bootstrap`; the exit code: 0 done, 2 wrong arguments. Other failures are the caller's to report. */
export async function runBootstrap(command: BootstrapCommand): Promise<number> {
  try {
    const args = parseBootstrapArgs(command.argv);
    command.stdout(formatBootstrapped(await command.run(args), args.json));
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    command.stderr(`bootstrap: ${error.message}\n`);
    return 2;
  }
}

import { LIMITS } from "../config/limits/limits.ts";
import type { MakeResetLink, ResetLink } from "../features/accounts/reset-link.ts";
import type { TeamOperations, TeamReport } from "../features/teams/operations.ts";
import type { OperatedTeam } from "../features/teams/operations-sql.ts";
import type { S3Grant } from "../stores/objects/s3-grants.ts";
import { runCommand, type Terminal } from "./command.ts";
import { limitLabel, parseTeamArgs, type TeamCommand } from "./team-args.ts";

/** Operations on teams and their members. */
export interface TeamCommandOperations extends TeamOperations {
  resetLink: MakeResetLink;
}

export interface TeamCommandLine extends Terminal {
  argv: string[];
  /** Opens the database, once the arguments are right, for as long as `work` lasts. */
  withTeamOperations(work: (operations: TeamCommandOperations) => Promise<string>): Promise<string>;
}

/**
 * The command `team`: shows teams and changes what they may. The exit code: 0 done, 2 wrong arguments. Other failures
 * are the caller's to report.
 */
export function runTeam(line: TeamCommandLine): Promise<number> {
  return runCommand("team", line, () => {
    const { command, json } = parseTeamArgs(line.argv);
    return line.withTeamOperations(async (operations) => {
      if (command.verb === "list") return list(operations, line, json);
      if (command.verb === "reset-link")
        return formatResetLink(await operations.resetLink(command.email), json);
      const team = await perform(operations, command);
      return json ? `${JSON.stringify(asJson(team))}\n` : format(team);
    });
  });
}

/** The team as it is when that is done. */
function perform(
  operations: TeamOperations,
  command: Exclude<TeamCommand, { verb: "list" | "reset-link" }>,
): Promise<TeamReport> {
  switch (command.verb) {
    case "show":
      return operations.show(command.team);
    case "set-tier":
      return operations.setTier(command.team, command.tier);
    case "set-limit":
      return operations.setLimit(command.team, command.change);
    case "set-operator":
      return operations.setOperator(command.team, command.operator);
    case "grant-s3":
      return operations.grantS3(command.team, command.grant);
    case "revoke-s3":
      return operations.revokeS3(command.team, command.grant);
  }
}

const urlOf = ({ bucket, prefix }: S3Grant) => `s3://${bucket}/${prefix}`;
const labelled = (limits: object) =>
  Object.fromEntries(Object.entries(limits).map(([name, value]) => [limitLabel(name), value]));

function summary(team: OperatedTeam) {
  return {
    id: team.id,
    name: team.name,
    tier: team.tier,
    operator: team.operator,
    owners: team.owners,
    members: team.members,
    keys: team.keys,
    subscription: team.subscriptionId,
    created_at: team.createdAt.toISOString(),
  };
}

function asJson(team: TeamReport) {
  const { limits, overrides, grants } = team;
  return {
    ...summary({ ...team, limits }),
    limits: labelled(limits),
    overrides: labelled(overrides),
    s3_grants: grants.map(urlOf),
  };
}

/** Quotes text from users: a name must not move the operator's cursor. */
const quoted = (text: string) => JSON.stringify(text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

function format(team: TeamReport): string {
  const rows: [string, string][] = [
    ["team", team.id],
    ["name", quoted(team.name)],
    ["tier", team.tier],
    ["owners", team.owners.map(quoted).join(", ")],
    ["members", String(team.members)],
    ["keys", String(team.keys)],
    ["operator", String(team.operator)],
    ["created", team.createdAt.toISOString()],
  ];
  if (team.subscriptionId !== null)
    rows.push(["subscription", `${team.subscriptionId} (its next change sets the tier)`]);
  for (const [name, value] of Object.entries(team.limits))
    rows.push([limitLabel(name), `${value}${Object.hasOwn(team.overrides, name) ? " (override)" : ""}`]);
  for (const grant of team.grants) rows.push(["s3 grant", quoted(urlOf(grant))]);
  return rows.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
}

function formatResetLink({ link, token }: ResetLink, json: boolean): string {
  const seconds = LIMITS.portal.resetTtlMs / 1_000;
  if (json) return `${JSON.stringify({ link, token, expires_in_s: seconds })}\n`;
  return [
    `link          ${link}`,
    `token         ${token}`,
    `For one new password within ${seconds / 60} minutes, shown this once. Earlier links of the account are void.`,
    "",
  ].join("\n");
}

/** A line a team, printed as they are read: there may be many. */
async function list(operations: TeamOperations, terminal: Terminal, json: boolean): Promise<string> {
  for await (const teams of operations.pages()) {
    const lines = teams.map((team) =>
      json
        ? JSON.stringify(summary(team))
        : `${team.id}  ${team.tier.padEnd(10)}  ${quoted(team.name)}  ${team.owners.map(quoted).join(", ")}`,
    );
    terminal.stdout(lines.map((line) => `${line}\n`).join(""));
  }
  return "";
}

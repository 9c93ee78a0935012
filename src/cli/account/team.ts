import { Command } from "commander";
import { jsonLine, printable } from "../printable.ts";
import { dayOf, printAnswer, printList } from "../rows.ts";
import { jsonOption, roleOption } from "./keys.ts";

const service = () => import("../service.ts");

async function show({ json }: { json: boolean }): Promise<void> {
  const team = await (await service()).connect().request("GET", "/v1/team");
  const lines = [
    `${printable(team.name)} (${team.id})`,
    `tier ${team.tier}, you are ${team.role}, ${team.members.length === 1 ? "1 member" : `${team.members.length} members`}, since ${dayOf(team.created_at)}`,
  ];
  process.stdout.write(json ? jsonLine(team) : `${lines.join("\n")}\n`);
}

async function members(options: { json: boolean }): Promise<void> {
  const team = await (await service()).connect().request("GET", "/v1/team");
  async function* all() {
    yield* team.members;
  }
  await printList(all(), options, ["id", "email", "role", "joined"], (member) => [
    ...[member.id, member.email, member.role, dayOf(member.joined_at)],
  ]);
}

async function invite(
  email: string,
  { role, json }: { role: "member" | "admin" | "owner"; json: boolean },
): Promise<void> {
  const invited = await (await service())
    .connect()
    .request("POST", "/v1/team/invites", { body: { email, role } });
  printAnswer(invited, { json }, invited.link);
  if (json) return;
  const { mailed, expires_at: until } = invited;
  process.stderr.write(mailed ? `mailed to ${printable(email)}` : "not mailed: hand the link on");
  process.stderr.write(`; good until ${dayOf(until)}\n`);
}

/** `rcpt team …`: the team, its members, and its invitations. */
export function teamCommand(): Command {
  const team = new Command("team").description("Your team.");
  team
    .command("show", { isDefault: true })
    .description("its name, tier and size")
    .addOption(jsonOption())
    .action(show);
  team.command("members").description("its members").addOption(jsonOption()).action(members);
  team
    .command("invite <email>")
    .description("invite an address, and print the link of the invitation")
    .addOption(roleOption("what they will be").default("member"))
    .addOption(jsonOption())
    .action(invite);
  return team;
}

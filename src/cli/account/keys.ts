import { Command, Option } from "commander";
import { dayOf, printAnswer, printList } from "../rows.ts";

const ENVS = ["live", "test"] as const;
/** Roles of a person or a key in a team, the least powerful first. */
const ROLES = ["member", "admin", "owner"] as const;
type Role = (typeof ROLES)[number];

interface CreateOptions {
  env: (typeof ENVS)[number];
  role?: Role;
  json: boolean;
}

export const jsonOption = (): Option => new Option("--json", "the API's answer").default(false);
export const roleOption = (description: string): Option =>
  new Option("--role <role>", description).choices(ROLES);

const service = () => import("../service.ts");

async function list(options: { json: boolean }): Promise<void> {
  const keys = (await service()).connect().paginate("/v1/keys");
  await printList(keys, options, ["id", "label", "env", "role", "key", "created", "last used"], (key) => [
    ...[key.id, key.label, key.env, key.role, `${key.prefix}…${key.last4}`],
    ...[dayOf(key.created_at), dayOf(key.last_used_at)],
  ]);
}

async function create(label: string, { env, role, json }: CreateOptions): Promise<void> {
  const body = { label, env, ...(role === undefined ? {} : { role }) };
  const key = await (await service()).connect().request("POST", "/v1/keys", { body });
  printAnswer(key, { json }, key.secret ?? "");
  if (!json) process.stderr.write(`${key.id}: the key is shown this once\n`);
}

async function revoke(id: string, options: { json: boolean }): Promise<void> {
  await (await service()).connect().request("DELETE", "/v1/keys/{id}", { path: { id } });
  printAnswer({ id, revoked: true }, options, `${id} revoked`);
}

/** `rcpt keys …`: the team's keys. */
export function keysCommand(): Command {
  const keys = new Command("keys").description("The team's API keys.");
  keys
    .command("list", { isDefault: true })
    .description("the keys, newest first")
    .addOption(jsonOption())
    .action(list);
  keys
    .command("create <label>")
    .description("make a key and print it, this once")
    .addOption(
      new Option("--env <env>", "a test key checks nothing and costs nothing").choices(ENVS).default("live"),
    )
    .addOption(roleOption("the most the key may do; default: what you may"))
    .addOption(jsonOption())
    .action(create);
  keys.command("revoke <id>").description("end a key, at once").addOption(jsonOption()).action(revoke);
  return keys;
}

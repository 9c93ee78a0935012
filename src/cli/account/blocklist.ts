import { Command, Option } from "commander";
import { type Client, RcptError } from "../../../packages/client/src/index.ts";
import { EXIT } from "../../platform/exit-codes.ts";
import { mapInOrder } from "../../platform/map-in-order.ts";
import { printable } from "../printable.ts";
import { dayOf, printAnswer, printList } from "../rows.ts";
import { jsonOption } from "./keys.ts";

/** Requests at once. */
const AT_ONCE = 4;

interface AddOptions {
  /** Domains below it are blocked too. */
  subdomains: boolean;
  json: boolean;
}

const service = () => import("../service.ts");

async function list(options: { json: boolean }): Promise<void> {
  const entries = (await service()).connect().paginate("/v1/blocklist");
  await printList(entries, options, ["domain", "subdomains", "added"], (entry) => [
    ...[entry.domain, entry.include_subdomains ? "yes" : "no", dayOf(entry.created_at)],
  ]);
}

const addTo = (client: Client, domain: string, { subdomains }: AddOptions, signal?: AbortSignal) =>
  client.request("POST", "/v1/blocklist", { body: { domain, include_subdomains: subdomains }, signal });

async function add(domain: string, options: AddOptions): Promise<void> {
  const entry = await addTo((await service()).connect(), domain, options);
  printAnswer(entry, options, `${entry.domain} blocked`);
}

async function remove(domain: string, options: { json: boolean }): Promise<void> {
  await (await service()).connect().request("DELETE", "/v1/blocklist/{domain}", { path: { domain } });
  printAnswer({ domain, removed: true }, options, `${domain} unblocked`);
}

type Imported =
  | { domain: string; result: "added" | "already_blocked" }
  | { domain: string; result: "refused"; error: RcptError };

/** One domain of many: a refusal of its own is a result, and one of the whole import is not. */
async function importOne(
  client: Client,
  domain: string,
  options: AddOptions,
  signal: AbortSignal,
): Promise<Imported> {
  try {
    await addTo(client, domain, options, signal);
    return { domain, result: "added" };
  } catch (error) {
    if (!(error instanceof RcptError)) throw error;
    if (error.code === "already_blocked") return { domain, result: "already_blocked" };
    if (error.code === "validation_failed") return { domain, result: "refused", error };
    throw error;
  }
}

/** @returns the exit code: 1 when a line is not a domain */
async function importAll(options: AddOptions): Promise<number> {
  const [{ connect, withInterrupt }, { linesOf }] = await Promise.all([
    service(),
    import("../check-input.ts"),
  ]);
  const client = connect({ pace: true });
  const counts = { added: 0, already_blocked: 0, refused: 0 };
  async function* domains(signal: AbortSignal) {
    for await (const line of linesOf(process.stdin, signal)) {
      const domain = line.replace(/#.*/, "").trim();
      if (domain !== "") yield domain;
    }
  }
  await withInterrupt(async (signal) => {
    const begin = (domain: string) => importOne(client, domain, options, signal);
    for await (const done of mapInOrder(domains(signal), begin, { atOnce: AT_ONCE, signal })) {
      counts[done.result] += 1;
      if (done.result === "refused")
        process.stderr.write(`rcpt: ${printable(done.domain)}: ${printable(done.error.detail)}\n`);
    }
  });
  const { added, already_blocked: known, refused } = counts;
  printAnswer(counts, options, `${added} blocked, ${known} were before, ${refused} refused`);
  return refused > 0 ? EXIT.failed : EXIT.done;
}

const exactOption = () => new Option("--no-subdomains", "block the domain alone, not those below it");

/** `rcpt blocklist …`: domains that the team takes for risky. @param end receives the exit code */
export function blocklistCommand(end: (code: number) => void): Command {
  const blocklist = new Command("blocklist").description(
    "Domains whose addresses are always risky for your team.",
  );
  blocklist
    .command("list", { isDefault: true })
    .description("the domains, by name")
    .addOption(jsonOption())
    .action(list);
  blocklist
    .command("add <domain>")
    .description("block a domain")
    .addOption(exactOption())
    .addOption(jsonOption())
    .action(add);
  blocklist
    .command("import")
    .description("block the domains of standard input, one a line; # begins a comment")
    .addOption(exactOption())
    .addOption(jsonOption())
    .action(async (options) => end(await importAll(options)));
  blocklist.command("remove <domain>").description("unblock a domain").addOption(jsonOption()).action(remove);
  return blocklist;
}

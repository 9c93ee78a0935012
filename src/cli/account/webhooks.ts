import { Command, Option } from "commander";
import type { Client, RequestOptions } from "../../../packages/client/src/index.ts";
import { EVENT_TYPES, type EventType } from "../../config/events.ts";
import { UsageError } from "../../operator/command.ts";
import { EXIT } from "../../platform/exit-codes.ts";
import { printAnswer, printList } from "../rows.ts";
import { jsonOption } from "./keys.ts";
import { listen } from "./webhooks-listen.ts";

/** Time that `test` waits for the first attempt, and interval of its polls. */
const TEST_WITHIN_MS = 30_000;
const TEST_EVERY_MS = 500;

interface AddOptions {
  events?: EventType[];
  description?: string;
  json: boolean;
}

const service = () => import("../service.ts");

/** @throws UsageError */
function parseEvents(text: string): EventType[] {
  return text.split(",").map((name) => {
    const type = EVENT_TYPES.find((known) => known === name.trim());
    if (type === undefined) throw new UsageError(`--events names events: ${EVENT_TYPES.join(", ")}`);
    return type;
  });
}

const eventsOption = () =>
  new Option("--events <types>", "only these, such as bulk.completed,bulk.failed").argParser(parseEvents);

async function list(options: { json: boolean }): Promise<void> {
  const webhooks = (await service()).connect().paginate("/v1/webhooks");
  await printList(webhooks, options, ["id", "status", "mode", "events", "url"], (webhook) => [
    webhook.id,
    webhook.disabled_reason === null ? webhook.status : `${webhook.status} (${webhook.disabled_reason})`,
    webhook.livemode ? "live" : "test",
    webhook.events.length === EVENT_TYPES.length ? "all" : webhook.events.join(","),
    webhook.url,
  ]);
}

async function add(url: string, { events, description, json }: AddOptions): Promise<void> {
  const body: RequestOptions<"POST", "/v1/webhooks">["body"] = {
    url,
    ...(events === undefined ? {} : { events }),
    ...(description === undefined ? {} : { description }),
  };
  const webhook = await (await service()).connect().request("POST", "/v1/webhooks", { body });
  printAnswer(webhook, { json }, webhook.secret ?? "");
  if (!json)
    process.stderr.write(`${webhook.id}: its deliveries are signed with this secret, shown this once\n`);
}

async function remove(id: string, options: { json: boolean }): Promise<void> {
  await (await service()).connect().request("DELETE", "/v1/webhooks/{id}", { path: { id } });
  printAnswer({ id, removed: true }, options, `${id} removed`);
}

/** The delivery of an event, as soon as it was tried. null: not in time */
async function firstAttempt(client: Client, id: string, eventId: string, signal: AbortSignal) {
  const { setTimeout: sleep } = await import("node:timers/promises");
  const untilMs = Date.now() + TEST_WITHIN_MS;
  for (;;) {
    const page = await client.request("GET", "/v1/webhooks/{id}/deliveries", { path: { id }, signal });
    const delivery = page.data.find((one) => one.event_id === eventId);
    if (delivery !== undefined && (delivery.attempts > 0 || delivery.status === "failed")) return delivery;
    if (Date.now() >= untilMs) return null;
    await sleep(TEST_EVERY_MS, undefined, { signal });
  }
}

/** @returns the exit code: 1 where the receiver did not accept it */
async function test(id: string, options: { json: boolean }): Promise<number> {
  const { connect, withInterrupt } = await service();
  const client = connect();
  return withInterrupt(async (signal) => {
    const path = { id };
    const { event_id: eventId } = await client.request("POST", "/v1/webhooks/{id}/ping", { path, signal });
    const delivery = await firstAttempt(client, id, eventId, signal);
    if (delivery === null) {
      process.stderr.write(
        `rcpt: ${eventId} was not tried within ${TEST_WITHIN_MS / 1_000} s: is the relay up?\n`,
      );
      return EXIT.failed;
    }
    const { status, response_status: answered, error, duration_ms: ms } = delivery;
    const how = answered === null ? (error ?? "no answer") : `answered ${answered}`;
    printAnswer(delivery, options, `${eventId} ${status}: ${how}${ms === null ? "" : ` in ${ms} ms`}`);
    return status === "succeeded" ? EXIT.done : EXIT.failed;
  });
}

/** `rcpt webhooks …`: URLs that receive the team's events. @param end receives the exit code */
export function webhooksCommand(end: (code: number) => void): Command {
  const webhooks = new Command("webhooks").description("Where your team is told of events.");
  webhooks
    .command("list", { isDefault: true })
    .description("the webhooks, newest first")
    .addOption(jsonOption())
    .action(list);
  webhooks
    .command("add <url>")
    .description("make a webhook and print its signing secret, this once")
    .addOption(eventsOption())
    .option("--description <text>", "for people")
    .addOption(jsonOption())
    .action(add);
  webhooks
    .command("remove <id>")
    .description("delete a webhook and its log")
    .addOption(jsonOption())
    .action(remove);
  webhooks
    .command("test <id>")
    .description("send a webhook an event `ping`, and say how it was answered")
    .addOption(jsonOption())
    .action(async (id, options) => end(await test(id, options)));
  webhooks
    .command("listen")
    .description("post events to a program on this machine as they happen, signed, until Ctrl-C")
    .requiredOption("--forward-to <url>", "where to, such as http://localhost:3000/hook")
    .addOption(eventsOption())
    .option("--secret <secret>", "sign with this one, whsec_…; default: a new one, which is printed")
    .addOption(jsonOption())
    .action(async (options) => end(await listen(options)));
  return webhooks;
}

// npm run demo [-- --rows N]: runs the service against the mail world, an internet in miniature on loopback whose mail
// servers behave and misbehave in every way. Verifies one address of each behaviour and prints the answer with its
// evidence. Then submits a customer's list of N rows (100 000) as a bulk job, and compares the results with the world
// row by row.
import { parseArgs } from "node:util";
import type { VerificationResult } from "../src/features/verify/answer/verification-result.ts";
import { createMailWorld, type MailWorld } from "../test/support/mail-world/world.ts";
import { tellBulkStory } from "./demo/bulk.ts";
import { peaksOfAll } from "./demo/memory.ts";
import { formatRow, type Row, summarise, tableHead } from "./demo/table.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { startThrowaway, type ThrowawayService } from "./start/throwaway.ts";

const DEADLINE_MS = 3_000;
const CONCURRENCY = 8;
const ANSWER_WITHIN_MS = 60_000;
const ROWS_DEFAULT = 100_000;
const ROWS_MAX = 50_000_000;
/** Seconds: the demo need not wait as long as for real mail servers. Full mailboxes are asked again until the latter. */
const DEFERRAL_FIRST_S = 5;
const DEFERRAL_MAX_S = 20;

const say = (line: string) => console.log(`rcpt: ${line}`);

async function verify(service: ThrowawayService, address: string): Promise<VerificationResult> {
  const url = `${service.url}/v1/verify?evidence=true&email=${encodeURIComponent(address)}`;
  const headers = { authorization: `Bearer ${service.live_key}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  if (!response.ok) throw new Error(`${address}: HTTP ${response.status} ${await response.text()}`);
  return (await response.json()) as VerificationResult;
}

/** Verifies every address of the world, some at a time, and prints each row as it comes, in the world's order. */
async function verifyAll(service: ThrowawayService, world: MailWorld): Promise<Row[]> {
  const asked = world.expectations.filter((row) => row.needs !== "private_addresses_refused");
  const rows = new Array<Row | undefined>(asked.length);
  let next = 0;
  let printed = 0;
  async function worker(): Promise<void> {
    while (next < asked.length) {
      const at = next++;
      const expectation = asked[at];
      if (!expectation) return;
      const startedMs = performance.now();
      const result = await verify(service, expectation.address);
      rows[at] = { expectation, result, ms: performance.now() - startedMs };
      for (let row = rows[printed]; row; row = rows[++printed]) console.log(formatRow(row));
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return rows.filter((row) => row !== undefined);
}

/** @throws Error that says what N may be */
function rowsAsked(argv: string[]): number {
  const { values } = parseArgs({ args: argv, options: { rows: { type: "string" } } });
  const rows = Number(values.rows ?? ROWS_DEFAULT);
  if (!Number.isInteger(rows) || rows < 1 || rows > ROWS_MAX)
    throw new Error(`--rows must be a whole number from 1 to ${ROWS_MAX}`);
  return rows;
}

async function demo(guard: Guard, argv: string[]): Promise<number> {
  const listRows = rowsAsked(argv);
  const world = await createMailWorld();
  say(`the mail world is up: ${world.hosts().length} mail servers, DNS at ${world.dnsServer}`);
  const service = await startThrowaway(
    {
      DNS_SERVERS: world.dnsServer,
      SMTP_PORT: String(world.smtpPort),
      SMTP_HELO_NAME: "probe.rcpt.test",
      PROBE_PRIVATE_ADDRESSES: "true",
      VERIFY_DEADLINE_MS: String(DEADLINE_MS),
      DEFERRAL_FIRST_S: String(DEFERRAL_FIRST_S),
      DEFERRAL_MAX_S: String(DEFERRAL_MAX_S),
    },
    guard,
    say,
  );
  say(`the service is up at ${service.url}; a request is answered within ${DEADLINE_MS / 1000} s\n`);
  console.log(tableHead());
  const rows = await verifyAll(service, world);
  const { text, surprises } = summarise(rows);
  console.log(`${text}\n`);
  const story = await tellBulkStory(service, world, listRows);
  for (const { name, processes, peakMib } of peaksOfAll())
    console.log(
      `${String(peakMib).padStart(6)} MiB at most resident: ${name}${processes > 1 ? ` (${processes} of them)` : ""}`,
    );
  await world.close();
  return surprises + story.surprises === 0 ? 0 : 1;
}

runGuarded((guard) => demo(guard, process.argv.slice(2)), { interruptedCode: 130 });

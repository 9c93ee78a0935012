import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, jobOf, resultLines, submitted } from "../../support/bulk.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createSocksServer, type SocksServer } from "../../support/socks-server.ts";
import { until } from "../../support/until.ts";

/**
 * No connection succeeds any more while a job runs: the only proxy closes each one. The rows wait, without using up
 * attempts, and are asked once the proxy works again.
 */
const ENOUGH_MS = 240_000;
const BIG = {
  "gmail.com": ["gmail-smtp-in.l.google.com", "mx.multiline.test"],
  "outlook.com": ["outlook-com.olc.protection.outlook.com", "mx.no-enhanced.test"],
} as const;

let deployment: TestDeployment;
let socks: SocksServer;
let api: TestApi;
let key: string;

before(async () => {
  [deployment, socks] = await Promise.all([createDeployment(), createSocksServer()]);
  const { world } = deployment;
  for (const [domain, [exchanger, host]] of Object.entries(BIG)) {
    world.dns.set(domain, { mx: [[5, exchanger]] });
    world.dns.set(exchanger, { a: [world.host(host).address] });
  }
  const settings = { SMTP_PROXIES: `socks5://127.0.0.1:${socks.port}` };
  [api] = await Promise.all([
    deployment.startApi(settings),
    deployment.startRelay(),
    deployment.startBulk({ ...settings, DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "2" }),
  ]);
  key = (await deployment.team("enterprise")).liveKey;
});
after(async () => {
  await socks.close();
  await deployment.stop();
});

const numbered = (count: number, name: string, domain: string) =>
  Array.from({ length: count }, (_, i) => `${name}${i}@${domain}`);

describe("a job whose network goes away", () => {
  it("waits for it, and ends with every row as it is", async () => {
    socks.behaviour = "close";
    socks.cut();
    const found = numbered(40, "exists", "plain.test");
    const missing = numbered(40, "missing", "lockstep.test");
    const emails = [...found, ...missing, "a@nowhere.test"];
    const job = await submitted(api, key, emails);
    const waiting = await until(
      "all that can be is answered",
      async () => {
        const now = await jobOf(api, key, job.id);
        return now.status === "deferred" && now.rows.processed === 1 && now;
      },
      ENOUGH_MS,
    );
    assert.equal(waiting.rows.deferred, 80);
    // They have been asked again meanwhile, and wait on: by far longer than a row may that a server put off.
    await until(
      "they have waited for longer than refused rows may",
      async () => {
        const tasks = await deployment.sql<{ reason: string; attempts: number; waited: number }[]>`
          select reason, attempts, extract(epoch from now() - deferred_at)::float8 as waited from job_tasks
          where job_id = ${job.id} and kind = 'retry' and state <> 'done'`;
        return (
          tasks.length > 0 &&
          tasks.every(
            ({ reason, attempts, waited }) => reason === "our_network" && attempts === 0 && waited > 4,
          )
        );
      },
      ENOUGH_MS,
    );
    socks.behaviour = "serve";
    await until(
      "the job is done",
      async () => {
        await deployment.sql`
          update job_tasks set due_at = now()
          where job_id = ${job.id} and kind = 'retry' and state = 'ready' and due_at > now()`;
        return (await jobOf(api, key, job.id)).status === "completed";
      },
      ENOUGH_MS,
    );
    const done = await ended(api, key, job.id, ENOUGH_MS);
    assert.deepEqual([done.verdicts.valid, done.verdicts.invalid, done.rows.deferred], [40, 41, 0]);
    const lines = await resultLines(api, key, job.id);
    assert.deepEqual(
      lines.map(({ input, reason }) => [input, reason]),
      emails.map((email) => {
        if (email.startsWith("exists")) return [email, "accepted_mailbox"];
        return [email, email.startsWith("missing") ? "mailbox_not_found" : "domain_not_found"];
      }),
    );
  });
});

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import { ended, jobOf, ledgerState, resultLines, submitted } from "../../support/bulk.ts";
import { say } from "../../support/mail-world/action.ts";
import type { MailHost } from "../../support/mail-world/host.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/**
 * A server that blocks us: no address becomes invalid for it, no process goes on asking, and all is well once it
 * accepts us again.
 */
const closing = createClosing();
/** Below the 300 s that a refused row waits by default: rows that come back sooner were released by the breaker. */
const SOON_MS = 240_000;
const PATIENCE = 50;
const EXISTING = 600;
const MISSING = 200;

let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let bulk: { stop(): Promise<void> } | null = null;
const BREAKER = { BREAKER_FIRST_S: "2" };

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(BREAKER), deployment.startRelay()]);
  team = await deployment.team("enterprise");
});
afterEach(async () => {
  await bulk?.stop();
  bulk = null;
});
after(closing.close);

/** The workers, in the egress of the API. */
async function work(settings: Record<string, string> = {}): Promise<void> {
  bulk = await deployment.startBulk({ ...BREAKER, ...settings });
}

/** After `patience` recipients the host blocks every client, until it is reset. */
function blocksAfter(host: MailHost, patience: number) {
  const seen = { asked: 0, blocked: 0 };
  host.setBehaviour("rcpt", ({ clientAddress }) => {
    seen.asked += 1;
    if (seen.asked <= patience) return null;
    seen.blocked += 1;
    return say(
      `554 5.7.1 Service unavailable; Client host [${clientAddress}] blocked using zen.spamhaus.org; see https://example.org/query`,
    );
  });
  return { seen, relent: () => host.setBehaviour("rcpt", null) };
}

function stands(id: string, what: string, holds: (job: BulkJob) => boolean): Promise<BulkJob> {
  return until(
    what,
    async () => {
      const job = await jobOf(api, team.liveKey, id);
      return holds(job) && job;
    },
    SOON_MS,
  );
}

/** Asserts that no quota is reserved any more, and that `used` units were charged. */
async function settled(used: number): Promise<void> {
  await until("all leases are back", async () => (await ledgerState(deployment, team.id)).leased === 0);
  assert.deepEqual(await ledgerState(deployment, team.id), { used, held: 0, leased: 0 });
}

async function breakersOpen(): Promise<number> {
  return Number(/^rcpt_breakers_open\{provider="other"\} (\d+)$/m.exec(await api.metrics())?.[1] ?? 0);
}

describe("a server that blocks us in the middle of a job", () => {
  it("is left alone, its rows wait and come back when it relents, each answered rightly and charged once", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const { seen, relent } = blocksAfter(deployment.world.host("mx.blocked.test"), PATIENCE);
    const rows = Array.from({ length: EXISTING + MISSING }, (_, i) =>
      i % 4 === 3 ? `missing-w${i}@blocked.test` : `exists-w${i}@blocked.test`,
    );
    await work();
    const { id } = await submitted(api, team.liveKey, rows);
    const waiting = await stands(
      id,
      "rows wait for the server that blocks us",
      ({ status }) => status === "deferred",
    );
    assert.ok(waiting.rows.deferred >= EXISTING + MISSING - PATIENCE, JSON.stringify(waiting.rows));
    assert.equal(waiting.rows.processed + waiting.rows.deferred, EXISTING + MISSING);
    assert.equal(waiting.verdicts.unknown, 0, "no row is given up");
    await until("another process of the egress knows", async () => (await breakersOpen()) === 1);
    const { status, body } = await api.verify(team.liveKey, "exists-s@blocked.test", "&evidence=true");
    assert.deepEqual([status, body.verdict, body.reason], [200, "unknown", "sender_blocked"]);
    const { blocked } = seen;
    assert.ok(blocked < EXISTING, `${blocked} more were sent to a server that blocks us`);

    relent();
    const done = await ended(api, team.liveKey, id, SOON_MS);
    assert.deepEqual(
      [done.status, done.rows.deferred, done.rows.processed],
      ["completed", 0, EXISTING + MISSING],
    );
    assert.deepEqual(done.verdicts, { valid: EXISTING, invalid: MISSING, risky: 0, unknown: 0 });
    const lines = await resultLines(api, team.liveKey, id);
    assert.deepEqual(
      lines.map(({ input, verdict }) => [input, verdict]),
      rows.map((email) => [email, email.startsWith("exists") ? "valid" : "invalid"]),
    );
    await until("the other process knows that it is over", async () => (await breakersOpen()) === 0);
    const after = await api.verify(team.liveKey, "exists-t@blocked.test");
    assert.equal(after.body.reason, "accepted_mailbox");
    await settled(used + EXISTING + MISSING + 1);
  });

  it("and never relents is not waited for forever: its rows are unknown and cost nothing", async () => {
    const { used } = await ledgerState(deployment, team.id);
    await work({ DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "2", DEFERRAL_QUEUE_MAX_S: "4" });
    const rows = Array.from({ length: 60 }, (_, i) => `exists-n${i}@dnsbl-mail.test`);
    const { id } = await submitted(api, team.liveKey, [...rows, "exists-n@plain.test"]);
    const done = await ended(api, team.liveKey, id, SOON_MS);
    assert.deepEqual([done.status, done.rows.deferred, done.rows.processed], ["completed", 0, 61]);
    assert.deepEqual(done.verdicts, { valid: 1, invalid: 0, risky: 0, unknown: 60 });
    const lines = await resultLines(api, team.liveKey, id);
    assert.ok(lines.slice(0, 60).every(({ reason }) => reason === "sender_blocked"));
    await settled(used + 1);
  });

  it("before it greets us is left alone too, by requests of every process", async () => {
    const host = deployment.world.host("mx.dnsbl-connect.test");
    const other = await deployment.startApi(BREAKER);
    let n = 0;
    await until("nobody is asked there any more", async () => {
      const before = host.account.connections;
      const { body } = await api.verify(team.liveKey, `exists-g${n++}@dnsbl-connect.test`, "&evidence=true");
      assert.deepEqual([body.verdict, body.reason], ["unknown", "sender_blocked"]);
      if ((body.evidence as { rule?: string } | undefined)?.rule !== "breaker_open") return false;
      assert.equal(host.account.connections, before);
      return true;
    });
    await until("nor by the other process", async () => {
      const { body } = await other.verify(
        team.liveKey,
        `exists-h${n++}@dnsbl-connect.test`,
        "&evidence=true",
      );
      assert.equal(body.reason, "sender_blocked");
      return (body.evidence as { rule?: string } | undefined)?.rule === "breaker_open";
    });
    await other.stop();
  });
});

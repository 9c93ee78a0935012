import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { DeliveryAttempt } from "../../../../../src/features/webhooks/deliver/outcome.ts";
import { secretSealContext } from "../../../../../src/features/webhooks/secrets.ts";
import { newSigningSecret } from "../../../../../src/features/webhooks/signature.ts";
import { claimDeliveries, listDeliveryQueues } from "../../../../../src/features/webhooks/webhook-queue.ts";
import {
  putTeamWebhookSecret,
  rotateWebhookSecret,
  updateWebhook,
} from "../../../../../src/features/webhooks/webhook-sql.ts";
import { useDatabase } from "../../../../support/store.ts";
import {
  answered,
  box,
  deliverBy,
  deliveriesOf,
  fanOutAll,
  hasten,
  metrics,
  record,
  teamWithWebhooks,
} from "../webhook-fixture.ts";

const { sql } = await useDatabase();

async function waiting(events = 1): Promise<{ teamId: string; id: string }> {
  const { teamId, ids } = await teamWithWebhooks(sql, 1);
  await record(sql, teamId, events);
  await fanOutAll(sql);
  return { teamId, id: ids[0] ?? "" };
}

/** Attempts every due delivery of a lane once. @returns the sent requests */
async function attemptAll(lane: string, outcome: DeliveryAttempt) {
  const sent: { url: string; headers: Readonly<Record<string, string>>; body: string }[] = [];
  const deliver = deliverBy(sql, async (message) => {
    sent.push(message);
    return outcome;
  });
  for (const claimed of await claimDeliveries(sql, [{ lane, take: 50 }])) await deliver(claimed);
  return sent;
}

async function webhookOf(id: string) {
  const [row] = await sql<
    {
      status: string;
      disabled_reason: string | null;
      failing_since: Date | null;
      last_success_at: Date | null;
    }[]
  >`select status, disabled_reason, failing_since, last_success_at from webhooks where id = ${id}`;
  return row ?? assert.fail("no such webhook");
}

const only = async (lane: string) => (await deliveriesOf(sql, lane))[0] ?? assert.fail("no delivery");
const timeOut: DeliveryAttempt = { answered: false, error: "timeout", durationMs: 15_000 };

describe("a delivery", () => {
  it("is tried again when the schedule says, and given up after the last time", async () => {
    const { id } = await waiting();
    const delaysS = [5, 60, 300, 1_800, 7_200, 21_600, 43_200];
    for (const delayS of delaysS) {
      await hasten(sql, id);
      await attemptAll(id, answered(500));
      const [row] = await sql<[{ in_s: number }]>`
        select extract(epoch from next_attempt_at - now())::float8 as in_s from webhook_deliveries where lane = ${id}`;
      assert.ok(Math.abs(row.in_s - delayS) < 5, `${row.in_s} s instead of ${delayS}`);
    }
    await hasten(sql, id);
    await attemptAll(id, timeOut);
    const { status, attempts, error, response_status, next_attempt_at } = await only(id);
    assert.deepEqual(
      { status, attempts, error, response_status, next_attempt_at },
      { status: "failed", attempts: 8, error: "timeout", response_status: null, next_attempt_at: null },
    );
    assert.equal((await webhookOf(id)).status, "enabled");
  });

  it("that fails in ourselves ends like any other, and so does one claimed too often", async () => {
    const { id } = await waiting();
    const deliver = deliverBy(sql, () => Promise.reject(new Error("a bug")));
    const [claimed] = await claimDeliveries(sql, [{ lane: id, take: 1 }]);
    await deliver(claimed ?? assert.fail("nothing was due"));
    assert.deepEqual([(await only(id)).status, (await only(id)).error], ["pending", "internal_error"]);
    await sql`update webhook_deliveries set claims = ${LIMITS.webhooks.claimsMax} where lane = ${id}`;
    await hasten(sql, id);
    assert.deepEqual(await attemptAll(id, answered(200)), []);
    assert.equal((await only(id)).status, "failed");
    assert.equal((await webhookOf(id)).failing_since, null);
  });

  it("is counted by how it ended", async () => {
    metrics.webhookAttempts.reset();
    const { id } = await waiting(2);
    await attemptAll(id, answered(500));
    await hasten(sql, id);
    await attemptAll(id, answered(204));
    const { values } = await metrics.webhookAttempts.get();
    assert.deepEqual(Object.fromEntries(values.map(({ labels, value }) => [labels.result, value])), {
      retrying: 2,
      succeeded: 2,
    });
  });

  it("that succeeds ends the failing of its webhook", async () => {
    const { id } = await waiting();
    await attemptAll(id, answered(503));
    assert.ok((await webhookOf(id)).failing_since);
    await hasten(sql, id);
    await attemptAll(id, answered(200));
    const { failing_since, last_success_at } = await webhookOf(id);
    assert.ok(failing_since === null && last_success_at !== null);
    const { status, attempts, error, response_status } = await only(id);
    assert.deepEqual([status, attempts, error, response_status], ["succeeded", 2, null, 200]);
  });

  it("is the same message each time, at a time of its own", async () => {
    const { id } = await waiting();
    const [first] = await attemptAll(id, answered(500));
    await hasten(sql, id);
    const [second] = await attemptAll(id, answered(500));
    assert.equal(second?.body, first?.body);
    assert.equal(second?.headers["webhook-id"], first?.headers["webhook-id"]);
    assert.equal(first?.headers["webhook-id"], JSON.parse(first?.body ?? "").id);
    assert.equal(first?.headers["content-type"], "application/json");
  });

  it("answered 410 disables the webhook at once and stops what waits", async () => {
    const { id } = await waiting(3);
    const [first] = await deliveriesOf(sql, id);
    await sql`update webhook_deliveries set next_attempt_at = now() + interval '1 hour'
      where lane = ${id} and id <> ${first?.id ?? ""}`;
    await attemptAll(id, answered(410));
    const { status, disabled_reason } = await webhookOf(id);
    assert.deepEqual([status, disabled_reason], ["disabled", "gone"]);
    const log = (await deliveriesOf(sql, id)).map((delivery) => [delivery.status, delivery.error]);
    assert.deepEqual(log, [
      ["failed", "gone"],
      ["failed", "webhook_disabled"],
      ["failed", "webhook_disabled"],
    ]);
  });

  it("answered late by a receiver that the webhook has left since says nothing about the new one", async () => {
    const fates: [DeliveryAttempt, number][] = [
      [answered(410), 0],
      [answered(500), 7],
    ];
    for (const [outcome, attempts] of fates) {
      const { teamId, id } = await waiting(2);
      await sql`update webhooks set failing_since = now() - interval '6 days' where id = ${id}`;
      await sql`update webhook_deliveries set attempts = ${attempts} where lane = ${id}`;
      const deliver = deliverBy(sql, async () => {
        await updateWebhook(sql, teamId, id, { url: "https://moved.example/" });
        return outcome;
      });
      const [claimed] = await claimDeliveries(sql, [{ lane: id, take: 1 }]);
      await deliver(claimed ?? assert.fail("nothing was due"));
      const { status, failing_since } = await webhookOf(id);
      assert.deepEqual([status, failing_since], ["enabled", null]);
      assert.deepEqual((await deliveriesOf(sql, id)).map((delivery) => delivery.status).sort(), [
        "failed",
        "pending",
      ]);
    }
  });

  it("of a team whose tier has no webhooks any more is not sent, nor what else waits", async () => {
    const { teamId, id } = await waiting(2);
    await sql`update teams set tier = 'free' where id = ${teamId}`;
    assert.deepEqual(await attemptAll(id, answered(200)), []);
    const log = (await deliveriesOf(sql, id)).map((delivery) => [delivery.status, delivery.error]);
    assert.deepEqual(log, Array(2).fill(["failed", "unavailable_in_tier"]));
  });

  it("that may have failed for want of our own network disables only where others have succeeded", async () => {
    const giveUp = async (error: "dns_failure" | "connect_timeout" | "connection_failed" | "timeout") => {
      const { id } = await waiting();
      await sql`update webhooks set failing_since = now() - interval '6 days' where id = ${id}`;
      await sql`update webhook_deliveries set attempts = 7 where lane = ${id}`;
      await attemptAll(id, { answered: false, error, durationMs: 1 });
      return (await webhookOf(id)).status;
    };
    const perhapsOurs = ["dns_failure", "connect_timeout", "connection_failed"] as const;
    await sql`update webhooks set last_success_at = null`;
    for (const error of perhapsOurs) assert.equal(await giveUp(error), "enabled");
    assert.equal(await giveUp("timeout"), "disabled");
    const other = await waiting();
    await attemptAll(other.id, answered(200));
    for (const error of perhapsOurs) assert.equal(await giveUp(error), "disabled");
  });

  it("given up after days without a success disables the webhook; earlier, or after a success, it does not", async () => {
    const giveUp = async (failing: string) => {
      const { id } = await waiting();
      await sql`update webhooks set failing_since = now() - ${failing}::interval where id = ${id}`;
      await sql`update webhook_deliveries set attempts = 7 where lane = ${id}`;
      await attemptAll(id, answered(500));
      assert.equal((await only(id)).status, "failed");
      const { status, disabled_reason } = await webhookOf(id);
      return [status, disabled_reason];
    };
    assert.deepEqual(await giveUp("119 hours"), ["enabled", null]);
    assert.deepEqual(await giveUp("121 hours"), ["disabled", "failing"]);
  });

  it("of a webhook that was disabled meanwhile is not sent", async () => {
    const { id } = await waiting();
    const claimed = await claimDeliveries(sql, [{ lane: id, take: 1 }]);
    await sql`update webhooks set status = 'disabled', disabled_reason = 'by_user', disabled_at = now() where id = ${id}`;
    await hasten(sql, id);
    assert.equal(claimed[0]?.disabled, false);
    assert.deepEqual(await attemptAll(id, answered(200)), []);
    assert.equal((await only(id)).error, "webhook_disabled");
  });

  it("whose secret cannot be read is not sent unsigned, and tried again", async () => {
    const { id } = await waiting();
    const foreign = box.seal(newSigningSecret(), secretSealContext({ webhookId: "wh_another" }));
    await sql`update webhooks set secret = ${foreign} where id = ${id}`;
    assert.deepEqual(await attemptAll(id, answered(200)), []);
    const { status, error } = await only(id);
    assert.deepEqual([status, error], ["pending", "secret_unreadable"]);
  });
});

describe("the secrets of a delivery", () => {
  it("are two for a day after a rotation, then the new one", async () => {
    const { teamId, id } = await waiting(2);
    const next = newSigningSecret();
    const place = secretSealContext({ webhookId: id });
    const old = newSigningSecret();
    await sql`update webhooks set secret = ${box.seal(old, place)} where id = ${id}`;
    await rotateWebhookSecret(sql, teamId, id, {
      secret: box.seal(next, place),
      oldMs: LIMITS.webhooks.oldSecretMs,
    });
    const [both] = await attemptAll(id, answered(500));
    for (const secret of [next, old]) new Webhook(secret).verify(both?.body ?? "", { ...both?.headers });
    await sql`update webhooks set old_secret_until = now() where id = ${id}`;
    await hasten(sql, id);
    const [after] = await attemptAll(id, answered(200));
    new Webhook(next).verify(after?.body ?? "", { ...after?.headers });
    assert.throws(() => new Webhook(old).verify(after?.body ?? "", { ...after?.headers }), /signature/);
  });

  it("are the team's own for the URL of a job", async () => {
    const { teamId } = await teamWithWebhooks(sql, 0);
    const secret = newSigningSecret();
    await putTeamWebhookSecret(sql, teamId, box.seal(secret, secretSealContext({ teamId })));
    await record(sql, teamId, 1, { extraUrl: "https://job.example/told?x=1" });
    await fanOutAll(sql);
    const [sent] = await attemptAll(teamId, answered(204));
    assert.equal(sent?.url, "https://job.example/told?x=1");
    new Webhook(secret).verify(sent?.body ?? "", { ...sent?.headers });
    assert.equal((await only(teamId)).status, "succeeded");
  });

  it("of the URLs of a team's jobs make one lane, which fails and succeeds as one", async () => {
    const { teamId } = await teamWithWebhooks(sql, 0);
    await putTeamWebhookSecret(sql, teamId, box.seal(newSigningSecret(), secretSealContext({ teamId })));
    await record(sql, teamId, 2, { extraUrl: "https://job.example/" });
    await fanOutAll(sql);
    const restriction = async () =>
      (await listDeliveryQueues(sql, "", 1_000)).find(({ lane }) => lane === teamId)?.restriction;
    assert.equal(await restriction(), null);
    await attemptAll(teamId, answered(500));
    assert.equal(await restriction(), "failing");
    await sql`update webhook_deliveries set next_attempt_at = now() where lane = ${teamId}
      and id = (select min(id) from webhook_deliveries where lane = ${teamId})`;
    await attemptAll(teamId, answered(204));
    assert.equal(await restriction(), null);
  });

  it("are none for the URL of a job whose team has none: nothing is sent", async () => {
    const { teamId } = await teamWithWebhooks(sql, 0);
    await record(sql, teamId, 1, { extraUrl: "https://job.example/" });
    await fanOutAll(sql);
    assert.deepEqual(await attemptAll(teamId, answered(204)), []);
    assert.equal((await only(teamId)).error, "secret_unreadable");
  });
});

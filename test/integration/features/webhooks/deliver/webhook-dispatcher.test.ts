import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { secretSealContext } from "../../../../../src/features/webhooks/secrets.ts";
import { newSigningSecret } from "../../../../../src/features/webhooks/signature.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  listDeliveryQueues,
  recordAttempt,
} from "../../../../../src/features/webhooks/webhook-queue.ts";
import { putTeamWebhookSecret } from "../../../../../src/features/webhooks/webhook-sql.ts";
import type { Database } from "../../../../../src/stores/postgres/postgres.ts";
import { useDatabase } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";
import {
  answered,
  box,
  deliverBy,
  deliveriesOf,
  dispatch,
  fanOutAll,
  hasten,
  record,
  teamWithWebhooks,
} from "../webhook-fixture.ts";

const { sql } = await useDatabase();

const {
  leaseMs,
  claimsMax,
  lanesPerRound,
  inFlight,
  inFlightRestricted,
  inFlightPerWebhook,
  inFlightPerRestricted,
  inFlightPerTeam,
} = LIMITS.webhooks;
const FAILURE = {
  retryInMs: null,
  responseStatus: 500,
  responseBody: "",
  error: "refused",
  durationMs: 1,
} as const;
const SUCCESS = { ...FAILURE, responseStatus: 204, responseBody: "", error: null } as const;

async function waitingTeam(webhooks: number, events: number) {
  const { teamId, ids } = await teamWithWebhooks(sql, webhooks);
  await record(sql, teamId, events);
  await fanOutAll(sql);
  return { teamId, ids, id: ids[0] ?? "" };
}

async function claimOne(lane: string): Promise<ClaimedDelivery> {
  const [claimed] = await claimDeliveries(sql, [{ lane, take: 1 }]);
  return claimed ?? assert.fail("nothing was due");
}

const allOf = async (lane: string, status: string) =>
  (await deliveriesOf(sql, lane)).every((delivery) => delivery.status === status);

describe("two dispatchers", () => {
  it("deliver each event once to each webhook", async (t) => {
    const { ids } = await waitingTeam(3, 30);
    const sent = new Map<string, number>();
    const deliver = deliverBy(sql, async ({ url, headers }) => {
      const name = `${url} ${headers["webhook-id"]}`;
      sent.set(name, (sent.get(name) ?? 0) + 1);
      return answered(204);
    });
    dispatch(t, sql, deliver);
    dispatch(t, sql, deliver);
    for (const id of ids) await until("all are delivered", () => allOf(id, "succeeded"));
    assert.equal(sent.size, 90);
    assert.ok([...sent.values()].every((times) => times === 1));
  });
});

describe("a claim", () => {
  it("is one's own for its lease, and then anybody's: same event, counted", async () => {
    const { id } = await waitingTeam(1, 1);
    const first = await claimOne(id);
    assert.equal((await claimDeliveries(sql, [{ lane: id, take: 4 }])).length, 0);
    await hasten(sql, id);
    const second = await claimOne(id);
    assert.deepEqual([second.id, second.event_id, second.claims], [first.id, first.event_id, 2]);
  });

  it("counts as an attempt only with its outcome: killed relays use up none", async () => {
    const { id } = await waitingTeam(1, 1);
    const leasesS: number[] = [];
    let claimed = await claimOne(id);
    for (let claims = 1; claims <= claimsMax; claims++) {
      assert.deepEqual([claimed.claims, claimed.attempts], [claims, 0]);
      const [row] = await sql<[{ lease_s: number }]>`
        select extract(epoch from next_attempt_at - now())::float8 as lease_s from webhook_deliveries where lane = ${id}`;
      leasesS.push(row.lease_s);
      if (claims === claimsMax) break;
      await hasten(sql, id);
      claimed = await claimOne(id);
    }
    for (const [i, times] of [1, 2, 4, 8, 16, 32, 32].entries())
      assert.ok(Math.abs((leasesS[i] ?? 0) - (times * leaseMs) / 1_000) < 5, `${i}: ${leasesS[i]} s`);
    await deliverBy(sql, async () => answered(500))(claimed);
    const [delivery] = await deliveriesOf(sql, id);
    assert.deepEqual([delivery?.status, delivery?.attempts, delivery?.error], ["pending", 1, "refused"]);
    await hasten(sql, id);
    assert.equal((await claimOne(id)).claims, 1);
  });

  it("that has ended changes nothing by a failure, and counts by a success", async () => {
    const { id } = await waitingTeam(1, 1);
    const late = await claimOne(id);
    await hasten(sql, id);
    const other = await claimOne(id);
    assert.equal(await recordAttempt(sql, late, { ...FAILURE, status: "failed" }), false);
    assert.ok(await allOf(id, "pending"));
    assert.equal(await recordAttempt(sql, late, { ...SUCCESS, status: "succeeded" }), true);
    assert.equal(await recordAttempt(sql, other, { ...FAILURE, status: "pending", retryInMs: 5_000 }), false);
    assert.ok(await allOf(id, "succeeded"));
  });

  it("is never two's, however many claim at once", async () => {
    const { ids } = await waitingTeam(4, 20);
    const lanes = ids.map((lane) => ({ lane, take: 3 }));
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimDeliveries(sql, lanes)));
    const claimed = claims.flat().map((delivery) => delivery.id);
    assert.equal(new Set(claimed).size, claimed.length);
    assert.ok(claimed.length >= 12 && claimed.length <= 80);
  });

  it("takes what has been due the longest", async () => {
    const { id } = await waitingTeam(1, 3);
    const [, second] = await deliveriesOf(sql, id);
    await sql`update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where id = ${second?.id ?? ""}`;
    assert.equal((await claimOne(id)).id, second?.id);
  });
});

describe("the turns of webhooks", () => {
  it("go round all of them in pages", async () => {
    await sql`delete from events`;
    const made = await waitingTeam(5, 1);
    const names: string[] = [];
    for (let after = "", page = await listDeliveryQueues(sql, after, 2); page.length > 0; ) {
      names.push(...page.map(({ lane }) => lane));
      after = names.at(-1) ?? "";
      page = await listDeliveryQueues(sql, after, 2);
    }
    assert.deepEqual(names, [...made.ids].sort());
  });

  it("of the URLs of test jobs are apart from those of live jobs, one attempt at a time, however they fare", async (t) => {
    await sql`delete from events`;
    const { teamId } = await teamWithWebhooks(sql, 0);
    await sql.begin((tx) =>
      putTeamWebhookSecret(tx, teamId, box.seal(newSigningSecret(), secretSealContext({ teamId }))),
    );
    const ofTest = `${teamId}:test`;
    await record(sql, teamId, 3, { livemode: false, extraUrl: "https://dead.example/" });
    await record(sql, teamId, 1, { extraUrl: "https://good.example/" });
    await fanOutAll(sql);
    const queues = async () => [...(await listDeliveryQueues(sql, "", lanesPerRound))];
    const both = [
      { lane: teamId, share: teamId, due: true, restriction: null, disabled: false },
      { lane: ofTest, share: ofTest, due: true, restriction: "test", disabled: false },
    ];
    assert.deepEqual(await queues(), both);
    const [first] = await claimDeliveries(sql, [{ lane: ofTest, take: 1 }]);
    assert.ok(first);
    await deliverBy(sql, async () => answered(500))(first);
    await hasten(sql, ofTest);
    assert.deepEqual(await queues(), both);
    let underWay = 0;
    dispatch(
      t,
      sql,
      deliverBy(sql, async ({ url }) => {
        if (!url.includes("dead")) return answered(204);
        underWay += 1;
        assert.equal(underWay, 1);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return answered(410);
      }),
    );
    await until("the live one is served", () => allOf(teamId, "succeeded"));
    await until("the others failed", () => allOf(ofTest, "failed"));
  });

  it("are found without reading all webhooks", async () => {
    const made = await waitingTeam(3, 1);
    await sql`
      insert into webhooks (id, team_id, url, description, secret)
      select 'wh_filler' || n, ${made.teamId}, 'https://filler.example/', '', '' from generate_series(1, 50000) as n`;
    await sql`analyze webhooks`;
    const plan: string[] = [];
    const explaining = async (template: TemplateStringsArray, ...values: string[]) => {
      const strings = Object.assign([`explain ${template[0]}`, ...template.slice(1)], { raw: template.raw });
      for (const row of await sql<{ "QUERY PLAN": string }[]>(strings, ...values))
        plan.push(row["QUERY PLAN"]);
      return [];
    };
    await listDeliveryQueues(explaining as unknown as Database, "", lanesPerRound);
    assert.match(plan.join("\n"), /webhooks_pkey/);
    assert.doesNotMatch(plan.join("\n"), /Seq Scan on webhooks/);
    await sql`delete from teams where id = ${made.teamId}`;
  });

  it("leave a slow receiver to itself: others are served while it has all the places it may have", async (t) => {
    const slow = await waitingTeam(8, 20);
    const quick = await waitingTeam(1, 20);
    let held = 0;
    let most = 0;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const deliver = deliverBy(sql, async ({ url }) => {
      if (!slow.ids.some((id) => url.includes(id))) return answered(204);
      held += 1;
      most = Math.max(most, held);
      await released;
      held -= 1;
      return answered(204);
    });
    t.after(release);
    dispatch(t, sql, deliver);
    await until("the slow team has its share", () => held === inFlightPerTeam);
    await until("the quick one is served", () => allOf(quick.id, "succeeded"));
    assert.equal(most, inFlightPerTeam);
    const begun = await Promise.all(slow.ids.map((id) => deliveriesOf(sql, id)));
    for (const deliveries of begun)
      assert.ok(deliveries.filter(({ claims }) => claims > 0).length <= inFlightPerWebhook);
    await sql`delete from events where team_id = ${slow.teamId}`;
  });

  for (const [what, failing] of [
    ["fail and are slow", true],
    ["are slow and have not failed yet", false],
  ] as const)
    it(`go to a new webhook promptly though those of 16 teams ${what}, with a backlog each`, async (t) => {
      await sql`delete from events`;
      const slow = new Set<string>();
      for (let i = 0; i < 16; i++) for (const id of (await waitingTeam(16, 3)).ids) slow.add(id);
      if (failing) await sql`update webhooks set failing_since = now() where id in ${sql([...slow])}`;
      const held: (() => void)[] = [];
      t.after(() => {
        for (const release of held) release();
        held.push = (release) => {
          release();
          return 0;
        };
      });
      const deliver = deliverBy(sql, async ({ url }) => {
        if (!slow.has(url.slice("https://".length, -".example/".length))) return answered(204);
        await new Promise<void>((resolve) => held.push(resolve));
        return answered(500);
      });
      dispatch(t, sql, deliver);
      const places = failing ? inFlightRestricted.failing : inFlight;
      await until("the slow ones have all they may have", () => held.length === places);
      const quick = await waitingTeam(1, 1);
      if (!failing) held.shift()?.();
      await until("the new one is served", () => allOf(quick.id, "succeeded"));
      assert.ok(held.length <= places);
      await sql`delete from events`;
    });

  it("give a webhook that fails one place at a time", async (t) => {
    const { id } = await waitingTeam(1, 12);
    await sql`update webhooks set failing_since = now() where id = ${id}`;
    let held = 0;
    let most = 0;
    const deliver = deliverBy(sql, async () => {
      held += 1;
      most = Math.max(most, held);
      await new Promise((resolve) => setImmediate(resolve));
      held -= 1;
      return answered(500);
    });
    dispatch(t, sql, deliver);
    await until("each was tried", async () =>
      (await deliveriesOf(sql, id)).every(({ attempts }) => attempts > 0),
    );
    assert.equal(most, inFlightPerRestricted);
  });
});

describe("a dispatcher that stops", () => {
  it("finishes what is under way and begins nothing more", async (t) => {
    const { id } = await waitingTeam(1, 20);
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun = 0;
    const deliver = deliverBy(sql, async () => {
      begun += 1;
      await gate;
      return answered(204);
    });
    const { drain } = dispatch(t, sql, deliver);
    await until("all its places are taken", () => begun === inFlightPerWebhook);
    const drained = drain();
    finish();
    await drained;
    const done = (await deliveriesOf(sql, id)).filter(({ status }) => status === "succeeded");
    assert.deepEqual([done.length, begun], [inFlightPerWebhook, inFlightPerWebhook]);
  });
});

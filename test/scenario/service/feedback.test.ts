import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { Redis } from "ioredis";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Accuracy } from "../../../src/features/feedback/accuracy.ts";
import type { Recorded } from "../../../src/features/feedback/record.ts";
import { hash128 } from "../../../src/platform/ids.ts";
import { asMbox, postfixBounce, qmailBounce } from "../../support/bounce-mails.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/**
 * Outcomes of messages are counted once, for the team that reports them, and make rcpt check again where it was wrong.
 */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let redis: Redis;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  redis = new Redis(deployment.redisUrl);
  closing.after(() => redis.disconnect());
  api = await deployment.startApi();
});
after(closing.close);
beforeEach(async () => {
  team = await deployment.team("enterprise");
});

const HOUR_MS = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const valid = { verdict: "valid", reason: "accepted_mailbox", provider: "google" };
const hard = { outcome: "bounced", reply: "550 5.1.1 User unknown" };

const report = (events: object[], key = team.liveKey, to = api) =>
  to.send<Recorded & { code?: string; errors?: { path: string }[] }>("POST", "/v1/feedback", {
    key,
    body: { events },
  });
const reportFile = (body: Buffer | string, query = "", type = "message/rfc822") =>
  api.send<Recorded & { code?: string }>("POST", `/v1/feedback/files${query}`, {
    key: team.liveKey,
    body,
    headers: { "Content-Type": type },
  });
const accuracy = async (of = team, query = "") =>
  (await api.send<Accuracy>("GET", `/v1/feedback/accuracy${query}`, { key: of.liveKey })).body;

describe("reported events", () => {
  it("count once, however often and in however many requests they come", async () => {
    const event = { address: "Jane <jane@customer.example>", ...hard, at: ago(HOUR_MS), ...valid };
    const first = await report([event, event, { address: "joe@customer.example", outcome: "delivered" }]);
    assert.deepEqual([first.status, first.body], [200, { accepted: 2, duplicates: 1, ignored: 0 }]);
    const together = await Promise.all([report([event]), report([event])]);
    for (const { body } of together) assert.deepEqual(body, { accepted: 0, duplicates: 1, ignored: 0 });
    const { groups } = await accuracy();
    assert.deepEqual(groups, [
      { ...valid, delivered: 0, bounced: 1, hard_bounced: 1, complained: 0 },
      {
        ...{ verdict: null, reason: null, provider: null },
        ...{ delivered: 1, bounced: 0, hard_bounced: 0, complained: 0 },
      },
    ]);
  });

  it("take the answer that a later report brings", async () => {
    const event = { address: "jane@customer.example", outcome: "delivered", at: ago(HOUR_MS) };
    await report([event]);
    await report([{ ...event, verdict: "invalid", reason: "mailbox_not_found", rule: "text.unknown" }]);
    await report([{ ...event, verdict: "valid" }]);
    const { groups, wrong } = await accuracy();
    assert.deepEqual(
      groups.map(({ verdict, delivered }) => [verdict, delivered]),
      [["invalid", 1]],
    );
    assert.deepEqual(
      wrong.map(({ verdict, rule, outcome, events }) => [verdict, rule, outcome, events]),
      [["invalid", "text.unknown", "delivered", 1]],
    );
  });

  it("name as wrong what bounced for good, not a full mailbox, with the rule that read the bounce", async () => {
    await report([
      { address: "a@customer.example", ...hard, ...valid },
      { address: "b@customer.example", outcome: "bounced", reply: "552 5.2.2 mailbox full", ...valid },
      { address: "c@customer.example", ...hard, verdict: "invalid", reason: "mailbox_not_found" },
    ]);
    const { groups, wrong } = await accuracy();
    assert.deepEqual(
      wrong.map(({ bounce_reason: reason, bounce_rule: rule, events }) => [reason, rule, events]),
      [["mailbox_not_found", "enhanced.unknown_said_so", 1]],
    );
    assert.deepEqual(
      groups.map(({ verdict, bounced, hard_bounced: forGood }) => [verdict, bounced, forGood]),
      [
        ["valid", 2, 1],
        ["invalid", 1, 1],
      ],
    );
  });

  it("are one hard bounce where a soft one came first, in one request or two", async () => {
    const soft = { outcome: "bounced", reply: "552 5.2.2 mailbox full", ...valid };
    const [here, later] = ["a@customer.example", "b@customer.example"];
    const both = await report([
      { address: here, ...soft },
      { address: here, ...hard },
      { address: later, ...soft },
    ]);
    assert.deepEqual([both.body.accepted, both.body.duplicates], [2, 1]);
    for (const event of [hard, soft]) {
      const { body } = await report([{ address: later, ...event }]);
      assert.deepEqual([body.accepted, body.duplicates], [0, 1]);
    }
    const { groups, wrong } = await accuracy();
    assert.deepEqual(groups, [{ ...valid, delivered: 0, bounced: 2, hard_bounced: 2, complained: 0 }]);
    assert.deepEqual(
      wrong.map(({ bounce_reason: reason, bounce_rule: rule, events }) => [reason, rule, events]),
      [["mailbox_not_found", "enhanced.unknown_said_so", 2]],
    );
  });

  it("are counted in the days that are asked about", async () => {
    await report([
      { address: "a@customer.example", outcome: "delivered", at: ago(5 * 24 * HOUR_MS) },
      { address: "a@customer.example", outcome: "delivered" },
      { address: "a@customer.example", outcome: "delivered", at: ago(-HOUR_MS * 24 * 400) },
    ]);
    const counts = async (query: string) =>
      (await accuracy(team, query)).groups.map(({ delivered }) => delivered);
    assert.deepEqual([await counts("?days=1"), await counts("?days=90")], [[1], [2]]);
    for (const days of ["0", "91", "x"])
      assert.equal((await api.get(`/v1/feedback/accuracy?days=${days}`, team.liveKey)).status, 400);
  });

  it("that are too old, or name no address, are ignored and said so", async () => {
    const old = ago((LIMITS.feedback.keptDays + 1) * 24 * HOUR_MS);
    const { body } = await report([
      { address: "a@customer.example", outcome: "delivered", at: old },
      { address: "no address", outcome: "delivered" },
    ]);
    assert.deepEqual(body, { accepted: 0, duplicates: 0, ignored: 2 });
  });

  it("are taken by the thousand, and more are refused", async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ address: `a${i}@customer.example`, ...hard, ...valid }));
    const { status, body } = await report(many(LIMITS.feedback.eventsPerRequest));
    assert.deepEqual([status, body.accepted], [200, 1_000]);
    assert.equal((await report(many(LIMITS.feedback.eventsPerRequest + 1))).status, 400);
  });

  it("that are wrong are refused by name, all of them", async () => {
    const good = { address: "a@customer.example", outcome: "delivered" };
    for (const [bad, path] of [
      [{ outcome: "opened" }, "events.1.outcome"],
      [{ at: "yesterday" }, "events.1.at"],
      [{ reason: "no such\u0000reason" }, "events.1.reason"],
      [{ reply: "\u0000" }, "events.1.reply"],
      [{ enhanced_code: "550" }, "events.1.enhanced_code"],
    ] as const) {
      const { status, body } = await report([good, { ...good, ...bad }]);
      assert.deepEqual([status, body.errors?.[0]?.path], [400, path]);
    }
    assert.deepEqual((await accuracy()).groups, []);
  });

  it("end at the team's limit of a day, and nothing of the request is kept", async () => {
    const day = new Date().toISOString().slice(0, 10);
    const events = LIMITS.feedback.eventsPerTeamDay - 1;
    await deployment.sql`
      insert into feedback_days (team_id, day, events, withdrawals) values (${team.id}, ${day}, ${events}, 0)`;
    const of = (name: string) => ({ address: `${name}@customer.example`, outcome: "delivered" });
    const refused = await report([of("a"), of("b")]);
    assert.deepEqual([refused.status, refused.body.code], [409, "limit_reached"]);
    assert.deepEqual((await accuracy()).groups, []);
    assert.equal((await report([of("a")])).body.accepted, 1);
    assert.deepEqual((await report([of("a")])).body, { accepted: 0, duplicates: 1, ignored: 0 });
    // Of a file it is not known what it would repeat, until it is read.
    const full = [
      await report([of("a"), of("b")]),
      await reportFile("a@b.example\n", "?outcome=delivered", "text/csv"),
    ];
    for (const { status, body } of full) assert.deepEqual([status, body.code], [409, "limit_reached"]);
    assert.equal((await report([of("b")], team.testKey)).body.accepted, 1);
  });
});

describe("a file of bounces", () => {
  it("is read as it came, from a message, a mailbox or a table", async () => {
    const bounce = Buffer.from(
      postfixBounce.toString("latin1").replaceAll("26 Nov 2026", new Date().toUTCString().slice(5, 16)),
      "latin1",
    );
    assert.deepEqual((await reportFile(bounce)).body, { accepted: 1, duplicates: 0, ignored: 0 });
    const today = new Date().toISOString();
    const table = `email,outcome,at,verdict\na@b.example,delivered,${today},valid\nc@b.example,opened,,\n`;
    assert.deepEqual((await reportFile(table, "", "text/csv")).body, {
      accepted: 1,
      duplicates: 0,
      ignored: 1,
    });
    assert.equal((await reportFile("x@b.example\n", "?outcome=complained", "text/plain")).body.accepted, 1);
    const both = await reportFile(asMbox(bounce, qmailBounce), "", "application/mbox");
    assert.equal(both.body.duplicates, 1);
  });

  it("is refused with what to do: a form, a table without outcomes, one that is too long", async () => {
    const form = await reportFile("a=b", "", "application/x-www-form-urlencoded");
    assert.deepEqual([form.status, form.body.code], [415, "unsupported_media_type"]);
    const bare = await reportFile("a@b.example\n", "", "text/csv");
    assert.deepEqual([bare.status, bare.body.code], [400, "validation_failed"]);
    const long = await reportFile(Buffer.alloc(LIMITS.feedback.fileBytes + 1, "a"));
    assert.deepEqual([long.status, long.body.code], [413, "body_too_large"]);
    const rows = Array.from({ length: LIMITS.feedback.file.events + 1 }, (_, i) => `a${i}@b.example`).join(
      "\n",
    );
    const many = await reportFile(rows, "?outcome=delivered", "text/csv");
    assert.deepEqual([many.status, many.body.code], [413, "body_too_large"]);
  });
});

describe("a team's feedback", () => {
  it("is another's neither to read nor to add to, and equal addresses are not seen to be equal", async () => {
    const other = await deployment.team("enterprise");
    const event = { address: "jane@customer.example", ...hard, ...valid };
    await report([event]);
    assert.deepEqual((await accuracy(other)).groups, []);
    assert.equal((await report([event], other.liveKey)).body.accepted, 1);
    const hashes = await deployment.sql<{ hash: string }[]>`
      select distinct address_hash as hash from feedback where team_id in (${team.id}, ${other.id})`;
    assert.equal(hashes.length, 2);
    assert.ok(hashes.every(({ hash }) => hash !== hash128("jane@customer.example")));
  });

  it("is not made with a test key, which is answered as if it were", async () => {
    const event = { address: "a@b.example", outcome: "delivered" };
    const answers = [await report([event, event], team.testKey), await report([event], team.testKey)];
    assert.deepEqual(
      answers.map(({ body }) => body),
      [
        { accepted: 1, duplicates: 1, ignored: 0 },
        { accepted: 1, duplicates: 0, ignored: 0 },
      ],
    );
    assert.deepEqual((await accuracy()).groups, []);
  });

  it("goes with the team", async () => {
    await report([{ address: "a@b.example", outcome: "delivered" }]);
    assert.equal((await api.send("DELETE", "/v1/team", { key: team.session })).status, 204);
    const left = await deployment.sql`
      select team_id from feedback where team_id = ${team.id}
      union all select team_id from feedback_days where team_id = ${team.id}`;
    assert.equal(left.length, 0);
  });
});

describe("a hard bounce of what was answered valid", () => {
  let addresses = 0;
  /** Verified, and as if it had been so `ms` ago. */
  async function verifiedAgo(ms: number): Promise<string> {
    const address = `exists${5_000 + addresses++}@plain.test`;
    const { body } = await api.verify(team.liveKey, address);
    assert.equal(body.verdict, "valid");
    const key = `rcpt:ev:p:${hash128(address)}`;
    const text = await until("the entry is in Redis", () => redis.get(key));
    // The time is the only part that changes; every process of this test reads it from Redis again.
    const storedAt = (Date.parse(body.verified_at) - ms).toString(36);
    const before = Date.parse(body.verified_at).toString(36);
    assert.ok(text.includes(before), `${text} has no ${before}`);
    await redis.set(key, text.replace(before, storedAt), "KEEPTTL");
    return address;
  }
  const isCached = async (by: TestApi, address: string) =>
    (await by.verify(team.liveKey, address)).body.cached;

  it("has the address probed again, for all, and never says whether it was cached", async () => {
    // The process that verified it remembers when that really was.
    const [other, third] = [await deployment.startApi(), await deployment.startApi()];
    const address = await verifiedAgo(2 * HOUR_MS);
    assert.equal(await isCached(other, address), true);
    const answer = await report([{ address, ...hard, ...valid }], team.liveKey, other);
    assert.deepEqual(answer.body, { accepted: 1, duplicates: 0, ignored: 0 });
    const never = { address: "never@plain.test", ...hard, ...valid };
    assert.deepEqual((await report([never], team.liveKey, other)).body, answer.body);
    assert.equal(await isCached(other, address), false);
    assert.deepEqual([await isCached(other, address), await isCached(third, address)], [true, true]);
    await Promise.all([other.stop(), third.stop()]);
  });

  it("changes nothing of an answer that is younger than an hour, or than the bounce", async () => {
    const young = await verifiedAgo(HOUR_MS / 2);
    const later = await verifiedAgo(2 * HOUR_MS);
    await report([
      { address: young, ...hard, ...valid },
      { address: later, ...hard, ...valid, at: ago(3 * HOUR_MS) },
    ]);
    const fresh = await deployment.startApi();
    assert.deepEqual([await isCached(fresh, young), await isCached(fresh, later)], [true, true]);
    await fresh.stop();
  });

  it("changes nothing where it was not answered valid, is no hard bounce, or was reported before", async () => {
    const address = await verifiedAgo(2 * HOUR_MS);
    await report([
      { address, ...hard },
      { address, outcome: "complained", ...valid },
    ]);
    await report([{ address, ...hard, ...valid }]);
    const fresh = await deployment.startApi();
    assert.equal(await isCached(fresh, address), true);
    await fresh.stop();
  });

  it("changes nothing of a team that may not refresh, or has used up its day", async () => {
    const address = await verifiedAgo(2 * HOUR_MS);
    const small = await deployment.team("pro");
    await report([{ address, ...hard, ...valid }], small.liveKey);
    const day = new Date().toISOString().slice(0, 10);
    const used = LIMITS.feedback.withdrawalsPerTeamDay;
    await deployment.sql`
      insert into feedback_days (team_id, day, events, withdrawals) values (${team.id}, ${day}, 0, ${used})`;
    assert.equal((await report([{ address, ...hard, ...valid }])).body.accepted, 1);
    const fresh = await deployment.startApi();
    assert.equal(await isCached(fresh, address), true);
    await fresh.stop();
  });
});

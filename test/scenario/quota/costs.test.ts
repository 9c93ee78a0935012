import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limitFields } from "../../support/rate-fields.ts";
import type { Answer } from "../../support/service.ts";
import { assertRefused, newAddress, useTwoApis, withStatus } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** The charge of a request, over two processes: free units are given back, and nothing is charged twice. */
const apis = useTwoApis();

/** Units left after an answer, by its headers: exact where no other process serves the team. */
function left(answer: Answer): number | undefined {
  return limitFields(answer.headers).quota?.r;
}

function assertAnswered(answer: Answer, reason: string, units: number): void {
  assert.deepEqual([answer.status, answer.body.reason, left(answer)], [200, reason, units]);
}

describe("what a request costs", () => {
  const FREE: [string, string][] = [
    ["exists@servfail.test", "dns_error"],
    ["exists@refused.test", "dns_error"],
    ["greylisted@plain.test", "greylisted"],
    ["ratelimited@limited.test", "rate_limited_by_server"],
    ["exists@dead.test", "no_connect"],
    ["tempfail@plain.test", "smtp_protocol_error"],
    ["drop@rude.test", "smtp_protocol_error"],
    ["blocked-dnsbl@blocked.test", "sender_blocked"],
  ];

  for (const [address, reason] of FREE) {
    it(`nothing for ${reason} (${address}), asked, cached or asked anew, by two processes`, async () => {
      const team = await apis.deployment.team("enterprise", { dailyQuota: 2 });
      for (const api of [apis.one, apis.two]) {
        for (const query of ["", "", "&refresh=true", ""]) {
          const answer = await api.verify(team.liveKey, address, query);
          assertAnswered(answer, reason, 2);
        }
        // Units leased by one process, or reported as in flight, count as used for the other.
        assert.equal(await apis.settledUse(team.id), 0);
      }
      const answers = await apis.atOnce(team.liveKey, 40, () => address);
      const reasons = new Set(withStatus(answers, 200).map(({ body }) => body.reason));
      assert.deepEqual([...reasons], [reason]);
      for (const answer of withStatus(answers, 429)) assertRefused(answer, "quota", 2);
      assert.equal(await apis.settledUse(team.id), 0);
    });
  }

  it("nothing for our own deadline, while the check goes on and is free for the next request", async () => {
    const hasty = await apis.deployment.startApi({ VERIFY_DEADLINE_MS: "200" });
    const team = await apis.deployment.team("enterprise", { dailyQuota: 2 });
    const host = apis.deployment.world.host("mx.multiline.test");
    host.hold("rcpt");
    try {
      for (let i = 0; i < 5; i++) {
        const answer = await hasty.verify(team.liveKey, "exists-deadline@multiline.test");
        assertAnswered(answer, "deadline", 2);
      }
    } finally {
      host.release();
    }
    assert.equal(await apis.settledUse(team.id), 0);
    await hasty.stop();
  });

  it("one unit for an answer, whether found out, remembered, or plain from the address", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 20 });
    apis.deployment.world.dns.set("mailinator.com", { mx: [[10, "mx.plain.test"]] });
    const address = newAddress();
    const steps: [string, string, string][] = [
      [address, "", "accepted_mailbox"],
      [address, "", "accepted_mailbox"],
      [address, "", "accepted_mailbox"],
      [address, "&refresh=true", "accepted_mailbox"],
      ["no address at all", "", "invalid_format"],
      ["no address at all", "", "invalid_format"],
      ["missing@plain.test", "", "mailbox_not_found"],
      ["full@plain.test", "", "mailbox_full"],
      ["policy@plain.test", "", "refused_by_policy"],
      ["exists@catchall.test", "", "catch_all"],
      ["exists@nullmx.test", "", "null_mx"],
      ["exists@mailinator.com", "", "disposable_domain"],
    ];
    let expected = 20;
    for (const [email, query, reason] of steps) {
      const answer = await apis.one.verify(team.liveKey, email, query);
      expected -= 1;
      assertAnswered(answer, reason, expected);
    }
    assert.equal(await apis.settledUse(team.id), steps.length);
  });

  it("one unit where the tier does not probe", async () => {
    const team = await apis.deployment.team("pro", { dailyQuota: 3 });
    const answer = await apis.one.verify(team.liveKey, newAddress());
    assert.deepEqual([answer.body.reason, left(answer)], ["smtp_not_in_tier", 2]);
  });

  it("nothing for a request that is refused: bad, not in the tier, not authenticated, nowhere", async () => {
    const team = await apis.deployment.team("starter", { dailyQuota: 3 });
    const refused: [string, number][] = [
      ["/v1/verify", 400],
      ["/v1/verify?email=", 400],
      [`/v1/verify?email=${"a".repeat(321)}`, 400],
      ["/v1/verify?email=a@plain.test&refresh=maybe", 400],
      ["/v1/verify?email=a@plain.test&refresh=true", 402],
      ["/v1/verify/nothing?email=a@plain.test", 404],
    ];
    for (const [path, status] of refused)
      assert.equal((await apis.one.get(path, team.liveKey)).status, status, path);
    assert.equal(left(await apis.one.verify(team.liveKey, newAddress())), 2);
    assert.equal(await apis.settledUse(team.id), 1);
  });

  it("nothing with a test key, which has no quota to speak of", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 1 });
    for (const local of ["valid", "invalid", "unknown", "full", "disposable", "nobody", "quota-exceeded"]) {
      const { headers, body } = await apis.one.verify(team.testKey, `${local}@example.com`);
      assert.deepEqual(Object.keys(limitFields(headers)), ["rate"]);
      if (local === "quota-exceeded") assert.equal(body.code, "quota_exceeded");
      else assert.equal(body.livemode, false);
    }
    const answer = await apis.one.verify(team.liveKey, newAddress());
    assert.deepEqual([answer.status, left(answer)], [200, 0]);
    assert.equal((await apis.one.verify(team.testKey, "valid@example.com")).status, 200);
    assert.equal(await apis.settledUse(team.id), 1);
  });

  it("nothing for a client that leaves before its answer", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 2 });
    const host = apis.deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const headers = { Authorization: `Bearer ${team.liveKey}` };
    try {
      for (let i = 0; i < 4; i++) {
        const leave = new AbortController();
        const url = `${apis.one.url}/v1/verify?email=exists-left${i}@lockstep.test`;
        const asked = fetch(url, { headers, signal: leave.signal });
        await until("the request is being worked on", async () =>
          /rcpt_http_requests_in_flight 1\b/.test(await apis.one.metrics()),
        );
        leave.abort();
        await assert.rejects(asked, { name: "AbortError" });
        await until("its work has ended", async () =>
          /rcpt_http_requests_in_flight 0\b/.test(await apis.one.metrics()),
        );
      }
    } finally {
      host.release();
    }
    const answer = await apis.one.verify(team.liveKey, newAddress());
    assert.deepEqual([answer.status, left(answer)], [200, 1]);
    assert.equal(await apis.settledUse(team.id), 1);
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { say } from "../../support/mail-world/action.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * Providers whose answers are meaningless are detected; from then on their answers make no address invalid or valid.
 */
const {
  addresses,
  domains,
  quietRun,
  catchAllProbeDomains: strangerDomains,
  exploreEvery,
} = LIMITS.learnedBehaviour;
const THREADS = 2;

let deployment: TestDeployment;
let api: TestApi;
let other: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  const settings = { CHECK_THREADS: String(THREADS) };
  [api, other] = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
  key = (await deployment.team("enterprise")).liveKey;
});
after(() => deployment.stop());

/** Domains of customers of one provider. */
function customers(prefix: string, count: number, host: string): string[] {
  const names = Array.from({ length: count }, (_, i) => `${prefix}${i}.test`);
  for (const name of names) deployment.world.dns.set(name, { mx: [[10, host]] });
  return names;
}

async function disbelieved(at: TestApi, habit: string): Promise<number> {
  const line = new RegExp(`^rcpt_sites_disbelieved\\{habit="${habit}"\\} (\\d+)$`, "m");
  return Number(line.exec(await at.metrics())?.[1] ?? 0);
}

/** Asks one after the other until an answer has the reason. @returns how many before it */
async function askUntil(
  reason: string,
  emails: Iterable<string>,
): Promise<{ before: string[]; found: string }> {
  const before: string[] = [];
  for (const email of emails) {
    const { body } = await api.verify(key, email);
    if (body.reason === reason) return { before, found: email };
    before.push(`${email} ${body.reason}`);
  }
  return assert.fail(`nobody was answered ${reason}: ${before.at(-1)}`);
}

function* numbered(count: number, email: (i: number) => string): Generator<string> {
  for (let i = 0; i < count; i++) yield email(i);
}

describe("a provider that refuses everybody", () => {
  it("makes a few invalid at most, none for good, and is trusted again when it accepts a recipient", async () => {
    const host = deployment.world.host("mx.blocked.test");
    const names = customers("refused", domains + 2, host.name);
    host.setBehaviour("rcpt", () => say("550 5.1.1 User unknown"));
    const many = numbered(500, (i) => `exists-${i}@${names[i % names.length]}`);
    const { before, found } = await askUntil("provider_unverifiable", many);
    const condemned = before.filter((answer) => answer.endsWith(" mailbox_not_found"));
    assert.equal(condemned.length, before.length);
    assert.ok(condemned.length <= addresses + THREADS * quietRun, `${condemned.length} were condemned`);
    const { body } = await api.verify(key, found, "&evidence=true");
    assert.deepEqual([body.verdict, body.evidence?.rule], ["unknown", "belief.refuses_all"]);
    const [first = ""] = before;
    const again = await api.verify(key, first.split(" ")[0] ?? "");
    assert.deepEqual([again.body.verdict, again.body.reason], ["unknown", "provider_unverifiable"]);
    await until("the other process knows", async () => (await disbelieved(other, "refuses_all")) === 1);
    const there = await other.verify(key, first.split(" ")[0] ?? "");
    assert.equal(there.body.reason, "provider_unverifiable");

    host.setBehaviour("rcpt", null);
    // Each thread explores for itself.
    const later = numbered(4 * THREADS * exploreEvery, (i) => `exists-later-${i}@${names[0]}`);
    await askUntil("accepted_mailbox", later);
    await until("it is believed", async () => (await disbelieved(api, "refuses_all")) === 0);
    await askUntil(
      "mailbox_not_found",
      numbered(50, (i) => `missing-${i}@${names[1]}`),
    );
  });
});

describe("a provider without any of the users asked", () => {
  it("is trusted, since it accepts its postmasters", async () => {
    for (let i = 0; i < 3 * addresses; i++) {
      const { body } = await api.verify(key, `missing-${i}@limited.test`);
      assert.equal(body.reason, "mailbox_not_found");
    }
    assert.equal(await disbelieved(api, "refuses_all"), 0);
  });
});

describe("a provider that accepts everybody", () => {
  it("gets no more catch-all probes once those of many of its domains were accepted", async () => {
    const names = customers("accepted", 3 * strangerDomains, "mx.catchall.test");
    const { before, found } = await askUntil(
      "provider_unverifiable",
      numbered(names.length, (i) => `exists@${names[i]}`),
    );
    assert.ok(before.length >= strangerDomains, `${before.length} domains`);
    for (const answer of before) assert.match(answer, / catch_all$/);
    const { body } = await api.verify(key, found, "&evidence=true");
    assert.equal(body.evidence?.rule, "belief.accepts_all");
    assert.equal(await disbelieved(api, "accepts_all"), 1);
  });

  it("is an ordinary catch-all where it is one domain, however often it is asked", async () => {
    const host = deployment.world.host("mx.lockstep.test");
    host.setBehaviour("rcpt", () => say("250 2.1.5 Ok"));
    for (let i = 0; i < 2 * strangerDomains; i++) {
      const { body } = await api.verify(key, `any-${i}@lockstep.test`);
      assert.equal(body.reason, "catch_all");
    }
    host.setBehaviour("rcpt", null);
  });
});

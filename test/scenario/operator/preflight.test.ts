import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { SelfCheckStatus } from "../../../src/app/checks/self-check.ts";
import { loadPreflightConfig } from "../../../src/config/config.ts";
import { preflightCommand } from "../../../src/operator/commands.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * One of our two source addresses is on a block list. What mail servers refuse there says nothing of mailboxes; what
 * format and DNS say still does, and so does the other address. Once it is off the list, all is as before.
 */
const LISTED = "127.0.0.77";
const CLEAN = "127.0.0.78";
const ZONE = "dnsbl.test";
const ENTRY = `77.0.0.127.${ZONE}`;

let deployment: TestDeployment;
let api: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  const { dns } = deployment.world;
  dns.set(`2.0.0.127.${ZONE}`, { a: ["127.0.0.2"] });
  list();
  key = (await deployment.team("enterprise")).liveKey;
  api = await deployment.startApi({
    SMTP_SOURCE_ADDRESSES: `${LISTED},${CLEAN}`,
    SHAPING: JSON.stringify({
      default: { ways: [LISTED] },
      sites: { "lockstep.test": { ways: [CLEAN] } },
    }),
    DNSBL_ZONES: ZONE,
    PREFLIGHT_EVERY_S: "1",
    CHECK_THREADS: "2",
  });
});
after(() => deployment.stop());

function list(): void {
  deployment.world.dns.set(ENTRY, { a: ["127.0.0.4"], txt: ["listed for a test"] });
}

async function status(): Promise<SelfCheckStatus> {
  const response = await fetch(`${api.metricsUrl}/preflight`);
  assert.equal(response.status, 200);
  return (await response.json()) as SelfCheckStatus;
}

const trustIn = async (way: string) => (await status()).ways.find((report) => report.way === way)?.trusted;
const verify = async (address: string) => (await api.verify(key, address, "&evidence=true")).body;

async function verdictOf(address: string): Promise<string> {
  const { verdict, reason } = await verify(address);
  return `${verdict} ${reason}`;
}

describe("an address of ours on a block list", () => {
  it("is shown on the metrics port, with the list and what to do", async () => {
    await until("both ways were looked at", async () => (await status()).pending.length === 0);
    const { ways } = await status();
    assert.deepEqual(
      ways.map(({ way, state, trusted, network }) => [way, state, trusted, network]),
      [
        [LISTED, "failing", false, "up"],
        [CLEAN, "ok", true, "up"],
      ],
    );
    const finding = ways[0]?.findings.find(({ check }) => check === "dnsbl");
    assert.equal(finding?.seen, `${LISTED} is listed at ${ZONE} (127.0.0.4: listed for a test).`);
    assert.notEqual(finding?.advice, "");
    const metrics = await api.metrics();
    for (const line of [
      `rcpt_house_ok{way="${LISTED}"} 0`,
      `rcpt_house_ok{way="${CLEAN}"} 1`,
      `rcpt_house_check{way="${LISTED}",check="dnsbl"} 0`,
      `rcpt_house_check{way="${LISTED}",check="source_address"} 1`,
    ])
      assert.ok(metrics.includes(line), line);
  });

  it("makes no refused recipient invalid", async () => {
    const { verdict, reason, checks, evidence } = await verify("missing@plain.test");
    assert.deepEqual([verdict, reason, checks.smtp.fault], ["unknown", "sender_blocked", "our_address"]);
    assert.match(JSON.stringify(evidence), /"stage":"rcpt"/);
  });

  it("changes nothing of what was accepted, of format, of DNS, or by another address", async () => {
    assert.equal(await verdictOf("exists@plain.test"), "valid accepted_mailbox");
    assert.equal(await verdictOf("not an address@plain"), "invalid invalid_format");
    assert.equal(await verdictOf("a@nullmx.test"), "invalid null_mx");
    assert.equal(await verdictOf("a@nowhere.test"), "invalid domain_not_found");
    assert.equal(await verdictOf("missing@lockstep.test"), "invalid mailbox_not_found");
  });

  it("is the operator's affair: a tenant cannot see it", async () => {
    for (const path of ["/preflight", "/v1/preflight"]) {
      const { status: code } = await api.send("GET", path, { key });
      assert.equal(code, 404, path);
    }
    assert.doesNotMatch(
      JSON.stringify(await verify("missing-too@plain.test")),
      /dnsbl\.test|listed for a test/,
    );
  });

  it("is reported by the command, which needs no service", async () => {
    const { DNS_SERVERS = "", SMTP_PORT = "" } = deployment.settings;
    const config = loadPreflightConfig({
      DNS_SERVERS,
      SMTP_PORT,
      SMTP_HELO_NAME: "probe.rcpt.test",
      SMTP_SOURCE_ADDRESSES: LISTED,
      PROBE_PRIVATE_ADDRESSES: "true",
      DNSBL_ZONES: ZONE,
    });
    const printed: string[] = [];
    const terminal = { stdout: (text: string) => void printed.push(text), stderr: assert.fail };
    assert.equal(await preflightCommand({ argv: [], config, ...terminal }), 1);
    assert.match(printed.join(""), /FAIL +block lists +127\.0\.0\.77 is listed at dnsbl\.test/);
  });

  it("is trusted again once it is off the list", async () => {
    deployment.world.dns.remove(ENTRY);
    await until("it is trusted again", async () => (await trustIn(LISTED)) === true);
    // The word goes to the threads.
    let asked = 0;
    await until(
      "a refusal counts",
      async () => (await verdictOf(`missing-since${asked++}@plain.test`)) === "invalid mailbox_not_found",
    );
    assert.equal((await verify("missing-again@plain.test")).verdict, "invalid");
    list();
    await until("it is listed again", async () => (await trustIn(LISTED)) === false);
  });
});

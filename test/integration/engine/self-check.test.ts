import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { composePreflight } from "../../../src/app/checks/preflight.ts";
import { ownShaping } from "../../../src/app/checks/shaping.ts";
import { loadPreflightConfig } from "../../../src/config/config.ts";
import type { RouteReport, SelfCheckName } from "../../../src/egress/self-check/report.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { say } from "../../support/mail-world/action.ts";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { createSocksServer, type SocksServer } from "../../support/socks-server.ts";

/**
 * Preflight on real sockets and real DNS. The mail world has the biggest providers' exchangers, which report a public
 * address as ours.
 */
const SEEN = "8.8.8.8";
const GOOGLE = "gmail-smtp-in.l.google.com";
const OUTLOOK = "outlook-com.olc.protection.outlook.com";

let world: MailWorld;
let socks: SocksServer;
before(async () => {
  const greeting = `mx.google.com at your service, [${SEEN}]`;
  [world, socks] = await Promise.all([
    createMailWorld({
      hosts: [
        {
          name: GOOGLE,
          starttls: "works",
          on: { ehlo: () => say(`250-${greeting}`, "250-STARTTLS", "250 ENHANCEDSTATUSCODES") },
        },
        { name: OUTLOOK },
      ],
    }),
    createSocksServer(),
  ]);
  const { dns } = world;
  dns.set("gmail.com", { mx: [[5, GOOGLE]] });
  dns.set("outlook.com", { mx: [[5, OUTLOOK]] });
  dns.set("2.0.0.127.bl.test", { a: ["127.0.0.2"] });
  dns.set("2.0.0.127.silent.test", { a: ["127.0.0.2"], faults: { A: "servfail" } });
});
after(async () => {
  await socks.close();
  await world.close();
});

/** Gives our address a name, with matching forward and reverse records. */
function nameUs(): void {
  world.dns.set("probe.rcpt.test", { a: [SEEN], txt: [`v=spf1 ip4:${SEEN} -all`] });
  world.dns.set("8.8.8.8.in-addr.arpa", { ptr: ["probe.rcpt.test"] });
}

async function look(settings: Record<string, string> = {}): Promise<RouteReport[]> {
  const config = loadPreflightConfig({
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    PROBE_PRIVATE_ADDRESSES: "true",
    SMTP_HELO_NAME: "probe.rcpt.test",
    DNSBL_ZONES: "bl.test,silent.test",
    ...settings,
  });
  const preflight = composePreflight(config, ownShaping(config), systemClock);
  try {
    const run = await preflight.startRun();
    const reports: RouteReport[] = [];
    for (const way of preflight.routes) reports.push(await run.checkRoute(way));
    return reports;
  } finally {
    await preflight.close();
  }
}

async function one(settings: Record<string, string> = {}): Promise<RouteReport> {
  const [report] = await look(settings);
  return report ?? assert.fail("no way");
}

const resultOf = ({ findings }: RouteReport, check: SelfCheckName) =>
  findings.find((finding) => finding.check === check)?.result;

describe("preflight on the network", () => {
  it("passes when a big provider accepts us under TLS", async () => {
    nameUs();
    const report = await one();
    assert.deepEqual([report.state, report.trusted, report.address], ["ok", true, SEEN]);
    for (const check of [
      "port_25",
      "starttls",
      "helo_name",
      "helo_forward",
      "reverse_name",
      "dnsbl",
      "spf",
    ] as const)
      assert.equal(resultOf(report, check), "pass", check);
    const lists = report.findings.find(({ check }) => check === "dnsbl")?.seen ?? "";
    assert.match(
      lists,
      /not listed at bl\.test\. silent\.test cannot be believed: it did not answer \(SERVFAIL\)/,
    );
    assert.ok(world.host(GOOGLE).account.tlsHandshakes > 0);
    assert.equal(world.host(GOOGLE).account.transactions, 0, "nobody is asked about a mailbox");
  });

  it("finds that the name resolves to another address, and that the address has no name", async () => {
    nameUs();
    world.dns.set("probe.rcpt.test", { a: ["9.9.9.9"] });
    const elsewhere = await one();
    assert.deepEqual([elsewhere.trusted, resultOf(elsewhere, "helo_forward")], [false, "fail"]);
    nameUs();
    world.dns.remove("8.8.8.8.in-addr.arpa");
    const nameless = await one();
    assert.deepEqual([nameless.trusted, resultOf(nameless, "reverse_name")], [false, "fail"]);
  });

  it("asks block lists anew each time", async () => {
    nameUs();
    world.dns.set("8.8.8.8.bl.test", { a: ["127.0.0.10"] });
    assert.equal((await one()).trusted, false);
    world.dns.remove("8.8.8.8.bl.test");
    assert.equal((await one()).trusted, true);
  });

  it("looks at the ways that probes take, each under its own name", async () => {
    nameUs();
    const settings = {
      SMTP_SOURCE_ADDRESSES: "127.0.0.77=one.rcpt.test,192.0.2.77",
      SMTP_PROXIES: `socks5://127.0.0.1:${socks.port}`,
    };
    const reports = await look(settings);
    const proxy = `proxy:127.0.0.1:${socks.port}`;
    assert.deepEqual(
      reports.map(({ way, state }) => [way, state]),
      [
        ["127.0.0.77", "failing"],
        ["192.0.2.77", "failing"],
        [proxy, "ok"],
      ],
    );
    const [named, absent, behind] = reports;
    assert.ok(named && absent && behind);
    assert.equal(resultOf(named, "helo_forward"), "fail", "one.rcpt.test leads nowhere");
    assert.deepEqual([resultOf(absent, "source_address"), resultOf(absent, "port_25")], ["fail", "fail"]);
    assert.deepEqual([resultOf(behind, "proxy"), resultOf(behind, "source_address")], ["pass", "skipped"]);
    const shaped = await look({ ...settings, SHAPING: '{"default": {"ways": ["direct"]}}' });
    assert.deepEqual(
      shaped.map(({ way }) => way),
      ["direct"],
    );
  });

  it("distinguishes a proxy that refuses the login from a closed port", async () => {
    socks.behaviour = "close";
    const report = await one({ SMTP_PROXIES: `socks5://127.0.0.1:${socks.port}` });
    socks.behaviour = "serve";
    assert.deepEqual(
      [report.state, report.trusted, resultOf(report, "proxy"), resultOf(report, "port_25")],
      ["failing", true, "fail", "unknown"],
    );
  });

  it("says that nothing is known where no name can be resolved", async () => {
    const report = await one({ DNS_SERVERS: "127.0.0.1:1" });
    assert.deepEqual([report.state, report.trusted, resultOf(report, "port_25")], ["ok", true, "unknown"]);
  });
});

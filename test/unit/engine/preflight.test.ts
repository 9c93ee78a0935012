import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RouteReport, SeenAddress, SelfCheckName } from "../../../src/egress/self-check/report.ts";
import { type PreflightDeps, startPreflight } from "../../../src/engine/preflight.ts";
import type { Greeting } from "../../../src/smtp/session/greet.ts";
import type { EgressRoute } from "../../../src/smtp/wire/egress-routes.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScriptedResolver, type ScriptedNames } from "../../support/scripted-resolver.ts";

/**
 * Our address as servers report it in these tests: a public one, since documentation addresses do not count as public.
 */
const ADDRESS = "8.8.8.8";
const HELO = "probe.example.com";
const DIRECT: EgressRoute = { name: "direct", localAddress: null, proxy: null, heloName: HELO };

const PROVIDERS: ScriptedNames = {
  "gmail.com": { MX: ["20 alt.google.com", "5 gmail-smtp-in.l.google.com"] },
  "gmail-smtp-in.l.google.com": { A: ["1.1.1.1"], AAAA: ["2606:4700::1"] },
  "outlook.com": { MX: ["5 outlook-com.olc.protection.outlook.com"] },
  "outlook-com.olc.protection.outlook.com": { A: ["1.0.0.1"] },
};
const IN_ORDER: ScriptedNames = {
  ...PROVIDERS,
  [HELO]: { A: [ADDRESS], TXT: [`v=spf1 ip4:${ADDRESS} -all`] },
  "8.8.8.8.in-addr.arpa": { PTR: [HELO] },
  "2.0.0.127.bl.test": { A: ["127.0.0.2"] },
};

const WELCOME: Greeting = {
  reached: true,
  hello: `mx.google.com at your service, [${ADDRESS}]`,
  tls: "works",
  failure: null,
};
const SILENT: Greeting = {
  reached: false,
  hello: "",
  tls: "untried",
  failure: { stage: "connect", cause: "timeout", detail: "no answer in time" },
};

interface PreflightCase extends Partial<Omit<PreflightDeps, "resolver" | "greet" | "clock">> {
  names?: ScriptedNames;
  /** Greeting of the second exchanger, if it differs. */
  other?: Greeting;
  known?: SeenAddress[];
  greeting?: Greeting;
  path?: EgressRoute;
}

async function look(scene: PreflightCase = {}) {
  const dialled: string[] = [];
  const {
    names = IN_ORDER,
    greeting = WELCOME,
    path = DIRECT,
    other = greeting,
    known = [],
    ...deps
  } = scene;
  const run = await startPreflight({
    clock: createFakeClock(),
    resolver: createScriptedResolver(names),
    async greet(_path, host, address) {
      dialled.push(`${host} ${address}`);
      return host.startsWith("gmail") ? greeting : other;
    },
    canBind: async () => true,
    dnsblZones: ["bl.test"],
    isHeloConfigured: () => true,
    family: 4,
    mailFrom: "",
    probePrivateAddresses: false,
    ...deps,
  });
  const report = await run.checkRoute(path, known);
  return { report, dialled, exchangers: run.exchangers };
}

function results({ findings }: RouteReport): Record<SelfCheckName, string> {
  return Object.fromEntries(findings.map(({ check, result }) => [check, result])) as Record<
    SelfCheckName,
    string
  >;
}

describe("preflight of a route", () => {
  it("that is in order passes whatever applies to it", async () => {
    const { report, dialled } = await look();
    assert.deepEqual(results(report), {
      source_address: "skipped",
      proxy: "skipped",
      port_25: "pass",
      starttls: "pass",
      helo_name: "pass",
      helo_forward: "pass",
      reverse_name: "pass",
      dnsbl: "pass",
      mail_from: "skipped",
      spf: "pass",
    });
    assert.deepEqual([report.state, report.trusted, report.address], ["ok", true, ADDRESS]);
    assert.equal(report.checkedAt, "2026-01-01T00:00:00.000Z");
    assert.deepEqual(dialled.sort(), [
      "gmail-smtp-in.l.google.com 1.1.1.1",
      "outlook-com.olc.protection.outlook.com 1.0.0.1",
    ]);
  });

  it("dials the exchangers by the family of its source address", async () => {
    const path = { ...DIRECT, name: "2606:4700::9", localAddress: "2606:4700::9" };
    assert.deepEqual((await look({ path })).dialled, ["gmail-smtp-in.l.google.com 2606:4700::1"]);
  });

  it("that is listed is not trusted, and says where", async () => {
    const { report } = await look({ names: { ...IN_ORDER, "8.8.8.8.bl.test": { A: ["127.0.0.9"] } } });
    assert.deepEqual([report.state, report.trusted, results(report).dnsbl], ["failing", false, "fail"]);
    assert.match(
      report.findings.find(({ check }) => check === "dnsbl")?.seen ?? "",
      /bl\.test \(127\.0\.0\.9\)/,
    );
  });

  it("by IPv6 dials there on a host that has nothing else", async () => {
    assert.deepEqual((await look({ family: 6 })).dialled, ["gmail-smtp-in.l.google.com 2606:4700::1"]);
  });

  it("is looked at with each address that servers see, and is not trusted for any of them", async () => {
    const names: ScriptedNames = {
      ...IN_ORDER,
      [HELO]: { A: [ADDRESS, "9.9.9.9"] },
      "9.9.9.9.in-addr.arpa": { PTR: [HELO] },
    };
    const other = { ...WELCOME, hello: "outlook.com Hello [9.9.9.9]" };
    const both = await look({ names, other });
    assert.deepEqual(
      [both.report.trusted, both.report.addresses.map(({ address }) => address)],
      [true, [ADDRESS, "9.9.9.9"]],
    );
    const listed = { ...names, "9.9.9.9.bl.test": { A: ["127.0.0.2"] } };
    const { report } = await look({ names: listed, other });
    assert.deepEqual([report.trusted, results(report).dnsbl, report.address], [false, "fail", ADDRESS]);
    const known = both.report.addresses;
    assert.equal((await look({ names: listed, known })).report.trusted, false, "seen before");
    const unseen = await look({ names: listed, known, greeting: { ...WELCOME, hello: "mx" } });
    assert.equal(unseen.report.trusted, false, "nobody says whence we come now");
    assert.equal((await look({ names: listed })).report.trusted, true);
  });

  it("whose address has no PTR record is not trusted, once servers have named it", async () => {
    const { "8.8.8.8.in-addr.arpa": _, ...names } = IN_ORDER;
    assert.equal((await look({ names })).report.trusted, false);
    const unseen = await look({ names, greeting: { ...WELCOME, hello: "mx.google.com" } });
    assert.deepEqual([unseen.report.trusted, results(unseen.report).reverse_name], [true, "unknown"]);
  });

  it("without a name of its own is not trusted where servers reply, and not judged where none does", async () => {
    assert.equal((await look({ isHeloConfigured: () => false })).report.trusted, false);
    const { report } = await look({ isHeloConfigured: () => false, greeting: SILENT });
    assert.deepEqual([report.trusted, results(report).helo_name], [true, "unknown"]);
  });

  it("on which port 25 is closed fails, without losing trust", async () => {
    const { report } = await look({ greeting: SILENT });
    assert.deepEqual([report.state, report.trusted, results(report).port_25], ["failing", true, "fail"]);
  });

  it("without any finding is in order", async () => {
    const { report } = await look({ names: {} });
    assert.deepEqual([report.state, report.trusted, report.address], ["ok", true, null]);
    assert.deepEqual(results(report), {
      source_address: "skipped",
      proxy: "skipped",
      port_25: "unknown",
      starttls: "unknown",
      helo_name: "pass",
      helo_forward: "unknown",
      reverse_name: "unknown",
      dnsbl: "unknown",
      mail_from: "skipped",
      spf: "skipped",
    });
  });

  it("is distinguished from its proxy", async () => {
    const proxy = { host: "proxy.test", port: 1080, credentials: null, heloName: HELO };
    const path: EgressRoute = { name: "proxy:proxy.test:1080", localAddress: null, proxy, heloName: HELO };
    const refused: Greeting = {
      ...SILENT,
      failure: { stage: "connect", cause: "proxy", detail: "it refused our name and password" },
    };
    const { report } = await look({ path, greeting: refused });
    assert.deepEqual(
      [report.state, report.trusted, results(report).proxy, results(report).port_25],
      ["failing", true, "fail", "unknown"],
    );
    assert.equal(results((await look({ path })).report).proxy, "pass");
  });

  it("whose source address is not of this host fails", async () => {
    const path: EgressRoute = { ...DIRECT, name: "9.9.9.9", localAddress: "9.9.9.9" };
    const { report } = await look({ path, greeting: SILENT, canBind: async () => false });
    assert.deepEqual([report.state, results(report).source_address], ["failing", "fail"]);
    assert.equal(report.address, "9.9.9.9", "what is configured counts where nobody says otherwise");
  });

  it("from a private address asks no list of it, unless private servers are probed", async () => {
    const path: EgressRoute = { ...DIRECT, name: "127.0.0.77", localAddress: "127.0.0.77" };
    const names: ScriptedNames = {
      "2.0.0.127.bl.test": { A: ["127.0.0.2"] },
      "77.0.0.127.bl.test": { A: ["127.0.0.2"] },
    };
    const alone = await look({ path, names });
    assert.deepEqual([alone.report.trusted, results(alone.report).dnsbl], [true, "unknown"]);
    const { report } = await look({ path, names, probePrivateAddresses: true });
    assert.deepEqual(
      [report.trusted, results(report).dnsbl, results(report).reverse_name, results(report).helo_forward],
      [false, "fail", "skipped", "skipped"],
    );
  });

  it("advises about TLS, the sender's domain and SPF without calling anything failing", async () => {
    const names: ScriptedNames = { ...IN_ORDER, [HELO]: { A: [ADDRESS] }, "example.org": {} };
    const stripped: Greeting = { ...WELCOME, tls: "not_offered" };
    const { report } = await look({ names, greeting: stripped, mailFrom: "a@example.org" });
    const { starttls, mail_from, spf } = results(report);
    assert.deepEqual([report.state, starttls, mail_from, spf], ["ok", "fail", "fail", "fail"]);
  });
});

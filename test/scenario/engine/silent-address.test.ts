import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";
import { type ReceivedSpan, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { SilentListener } from "../../support/silent-listener.ts";
import { until } from "../../support/until.ts";

const SILENT = "127.0.0.4";
const collector = await startOtlpReceiver();
const scenario = engineScenario({
  bulk: true,
  settings: {
    VERIFY_DEADLINE_MS: "60000",
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_TRACES_SAMPLER_ARG: "1",
  },
});
after(() => collector.close());

type Families = { a: string[]; aaaa?: string[] };

/** A domain whose exchanger answers only at the last of its addresses. */
function place(domain: string, families: Families): void {
  scenario.world.dns.set(`mx.${domain}`, families);
  scenario.world.dns.set(domain, { mx: [[10, `mx.${domain}`]] });
}

/** The spans of the probes of `count` requests, each attempt that ended without a connection among them. */
async function probesOf(count: number): Promise<ReceivedSpan[]> {
  const { spans } = collector;
  const isAnswer = ({ name, attributes }: ReceivedSpan) =>
    name === "GET /v1/verify" && attributes["rcpt.verdict"] !== undefined;
  await until(`the spans of ${count} requests have come`, () => spans.filter(isAnswer).length >= count);
  return spans.filter(({ name }) => name === "probe");
}

describe("an exchanger whose first address is silent", () => {
  let silent: SilentListener;
  before(async () => {
    silent = await SilentListener.open(SILENT, scenario.world.smtpPort);
  });
  after(() => silent.close());

  it("is asked at its next address, of either family, while the first is still dialled", async () => {
    const plain = scenario.host("mx.plain.test").address;
    const hasIpv6 = scenario.world.hosts().some(({ address }) => address === "::1");
    const v4: Families = { a: [SILENT, plain] };
    const v6: Families = hasIpv6 ? { a: [SILENT], aaaa: ["::1"] } : v4;
    for (const [i, addresses] of [v4, v6].entries()) {
      const domain = `slow${i}.test`;
      place(domain, addresses);
      assert.equal(brief(await scenario.ask(`exists@${domain}`)), VALID);
      assert.equal(brief(await scenario.ask(`missing@${domain}`)), NOT_FOUND);
      const probes = await probesOf(2 * (i + 1));
      // The dial of the first address was not given up before the next one had connected.
      assert.deepEqual([probes.length > 0, probes.filter(({ failed }) => failed)], [true, []]);
    }
  });

  it("in a job: each row has its verdict", async () => {
    place("slow-job.test", { a: [SILENT, scenario.host("mx.plain.test").address] });
    const { told } = await scenario.job(mixed(24, "s", "slow-job.test"));
    assert.deepEqual(wrongly(told), []);
  });
});

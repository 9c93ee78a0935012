import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  noActionFinding,
  routeReportOf,
  type SelfCheckFinding,
} from "../../../src/egress/self-check/report.ts";
import { runPreflight } from "../../../src/operator/preflight.ts";
import type { EgressRoute } from "../../../src/smtp/wire/egress-routes.ts";
import { capturePrinted } from "../../support/printed.ts";

const pathOf = (name: string): EgressRoute => ({
  name,
  localAddress: name,
  proxy: null,
  heloName: "probe.example.com",
});
const OPEN = noActionFinding("port_25", "pass", "service", "4 of 4 big providers took the connection.");
const LISTED: SelfCheckFinding = {
  check: "dnsbl",
  result: "fail",
  weight: "trust",
  seen: "192.0.2.2 is listed at bl.example.net (127.0.0.2).",
  advice: "Ask to be removed.",
};
const CLOSED: SelfCheckFinding = {
  check: "port_25",
  result: "fail",
  weight: "service",
  seen: "None of 4 big providers took a connection.",
  advice: "Ask your provider.",
};
const NO_SPF: SelfCheckFinding = {
  check: "spf",
  result: "fail",
  weight: "advice",
  seen: "example.com has no SPF record.",
  advice: "Publish one.",
};

async function run(argv: string[], ways: Record<string, SelfCheckFinding[]>) {
  const { printed, ...output } = capturePrinted();
  let begun = 0;
  const code = await runPreflight({
    argv,
    routes: Object.keys(ways).map(pathOf),
    async startRun() {
      begun++;
      return {
        exchangers: [],
        checkRoute: async ({ name }) => routeReportOf(name, name, 0, ways[name] ?? []),
      };
    },
    ...output,
  });
  return { code, ...printed, begun };
}

describe("the command preflight", () => {
  it("reports for every route what was seen and what to do", async () => {
    const { code, stdout } = await run([], { "192.0.2.1": [OPEN, NO_SPF], "192.0.2.2": [OPEN, LISTED] });
    assert.equal(code, 1);
    assert.equal(
      stdout,
      [
        "way 192.0.2.1, seen as 192.0.2.1: in order",
        "  ok       port 25         4 of 4 big providers took the connection.",
        "  advice   SPF             example.com has no SPF record.",
        "                           → Publish one.",
        "",
        "way 192.0.2.2, seen as 192.0.2.2: NOT IN ORDER",
        "  ok       port 25         4 of 4 big providers took the connection.",
        "  FAIL     block lists     192.0.2.2 is listed at bl.example.net (127.0.0.2).",
        "                           → Ask to be removed.",
        "",
        "While this lasts, no refusal by 192.0.2.2 makes an address invalid (sender_blocked).",
        "",
      ].join("\n"),
    );
  });

  it("ends with 0 when every route is in order, with or without advice", async () => {
    const { code, stdout } = await run([], { direct: [OPEN, NO_SPF] });
    assert.equal(code, 0);
    assert.match(stdout, /Nothing was found that would keep answers from being believed\.\n$/);
  });

  it("does not call in order what could not be looked at", async () => {
    const unknown = { ...CLOSED, result: "unknown" } as const;
    const { code, stdout } = await run([], { direct: [unknown] });
    assert.equal(code, 0);
    assert.match(stdout, /^way direct, seen as direct: cannot be told\n {2}\? /);
    assert.match(stdout, /could not be told\.\n$/);
  });

  it("says what a closed port means", async () => {
    const { code, stdout } = await run([], { direct: [CLOSED] });
    assert.equal(code, 1);
    assert.match(stdout, /Nothing can be probed by direct \(our_network\)\.\n$/);
  });

  it("prints the reports as JSON on demand", async () => {
    const { code, stdout } = await run(["--json"], { direct: [OPEN, LISTED] });
    assert.equal(code, 1);
    const { ways } = JSON.parse(stdout) as { ways: Record<string, unknown>[] };
    assert.deepEqual(
      ways.map(({ way, state, trusted }) => [way, state, trusted]),
      [["direct", "failing", false]],
    );
  });

  it("asks no server when the arguments are wrong", async () => {
    for (const argv of [["--bogus"], ["now"]]) {
      const { code, stdout, stderr, begun } = await run(argv, { direct: [OPEN] });
      assert.deepEqual([code, stdout, begun], [2, "", 0]);
      assert.match(stderr, /^preflight: .*usage: npm run preflight/);
    }
  });
});

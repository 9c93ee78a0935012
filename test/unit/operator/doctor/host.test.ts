import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadConfig } from "../../../../src/config/config.ts";
import { judgeHost } from "../../../../src/operator/doctor/host.ts";
import { type HostFacts, lookAtHost } from "../../../../src/operator/doctor/host-facts.ts";

const GIB = 1_073_741_824;
const SCRATCH = { dir: "/scratch", error: null, isMemory: false, freeBytes: 100 * GIB };
const GOOD: HostFacts = {
  node: "20.19.1",
  glibc: "2.36",
  cores: 4,
  cpuLimit: null,
  memoryBytes: 16 * GIB,
  memoryLimitBytes: null,
  heapLimitBytes: 4 * GIB,
  openFiles: 65_536,
  scratch: SCRATCH,
  inKubernetes: false,
};

function findings(facts: Partial<HostFacts>, settings: Record<string, string>) {
  const config = loadConfig({
    DATABASE_URL: "postgres://u:p@db/rcpt",
    REDIS_URL: "redis://cache",
    S3_BUCKET: "lists",
    ROLE: "bulk",
    CHECK_THREADS: "4",
    ...settings,
  });
  return judgeHost({ ...GOOD, ...facts }, config);
}

function judge(facts: Partial<HostFacts>, settings: Record<string, string> = {}): string[] {
  return findings(facts, settings)
    .filter(({ state }) => state === "warn" || state === "fail")
    .map(({ state, check }) => `${state} ${check}`);
}

const CASES: [Partial<HostFacts>, Record<string, string>, string[]][] = [
  [{}, {}, []],
  [{ node: "20.18.3" }, {}, ["fail Node.js"]],
  [{ node: "18.20.0" }, {}, ["fail Node.js"]],
  [{ node: "24.1.0" }, {}, ["fail C library"]],
  [{ node: "24.1.0", glibc: "2.41" }, {}, []],
  [{ node: "24.1.0", glibc: null }, {}, []],
  [{ openFiles: 1_024 }, {}, ["warn open files"]],
  [{ openFiles: 256 }, {}, ["fail open files"]],
  [{ openFiles: null }, {}, []],
  [{ scratch: { ...SCRATCH, error: "EACCES" } }, {}, ["fail scratch directory"]],
  [{ scratch: { ...SCRATCH, error: "EACCES" } }, { ROLE: "relay" }, []],
  [{ scratch: { ...SCRATCH, error: "EACCES" } }, { S3_BUCKET: "" }, []],
  [{ scratch: { ...SCRATCH, isMemory: true } }, {}, ["warn scratch directory"]],
  [{ scratch: { ...SCRATCH, freeBytes: GIB } }, {}, ["warn scratch directory"]],
  [{ scratch: { ...SCRATCH, freeBytes: 1_000 } }, {}, ["fail scratch directory"]],
  [{ cpuLimit: 2 }, {}, ["warn check threads"]],
  [{ cpuLimit: 3.5 }, {}, []],
  [{ cpuLimit: 2 }, { ROLE: "relay" }, []],
  [{}, { CHECK_THREADS: "8" }, ["warn check threads"]],
  [{ memoryLimitBytes: GIB, heapLimitBytes: GIB / 2 }, {}, []],
  [{ memoryLimitBytes: GIB, heapLimitBytes: 2 * GIB }, {}, ["warn memory"]],
  [{ memoryLimitBytes: GIB / 2, heapLimitBytes: GIB / 4 }, {}, ["fail memory"]],
  [{}, { CACHE_ENTRIES: "3000000" }, ["fail memory"]],
  [{ heapLimitBytes: 15 * GIB, memoryBytes: 5.5 * GIB }, { CACHE_ENTRIES: "3000000" }, ["warn memory"]],
];

describe("what the doctor says of a machine", () => {
  for (const [facts, settings, expected] of CASES)
    it(`with ${JSON.stringify(facts)} and ${JSON.stringify(settings)}`, () =>
      assert.deepEqual(judge(facts, settings), expected));

  for (const [role, advice] of [
    ["bulk", "Set CHECK_THREADS=1."],
    ["api", "Set CHECK_THREADS=2."],
  ] as const)
    it(`advises the check threads that ${role} has by default on as many cores`, () => {
      const found = findings({ cpuLimit: 2 }, { ROLE: role }).find(({ check }) => check === "check threads");
      assert.equal(found?.advice, advice);
    });

  it("does not wait for the names of peers, while which nothing else would be done", async (t) => {
    const { report } = process as unknown as { report: { excludeNetwork: boolean; getReport(): object } };
    const asked: boolean[] = [];
    const real = report.getReport.bind(report);
    t.mock.method(report, "getReport", () => {
      asked.push(report.excludeNetwork);
      return real();
    });
    const facts = await lookAtHost(tmpdir(), []);
    assert.deepEqual(asked, [true]);
    assert.equal(report.excludeNetwork, false);
    const { header } = real() as { header: { glibcVersionRuntime?: string } };
    assert.equal(facts.glibc, header.glibcVersionRuntime ?? null);
  });

  it("looks at this one, and leaves nothing behind", async () => {
    const dir = mkdtempSync(join(tmpdir(), "rcpt-doctor-test-"));
    try {
      const facts = await lookAtHost(dir, ["KUBERNETES_SERVICE_HOST"]);
      assert.equal(facts.node, process.versions.node);
      assert.equal(facts.inKubernetes, true);
      assert.ok(facts.cores > 0 && facts.heapLimitBytes > 0 && facts.memoryBytes > 0);
      assert.ok((facts.openFiles ?? 1) > 0);
      assert.equal(facts.scratch.error, null);
      assert.ok((facts.scratch.freeBytes ?? 0) > 0);
      assert.deepEqual(readdirSync(dir), []);
      const missing = await lookAtHost(join(dir, "missing"), []);
      assert.match(missing.scratch.error ?? "", /ENOENT/);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

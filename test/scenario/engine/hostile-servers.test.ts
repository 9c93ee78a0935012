import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import type { VerificationResult } from "../../../src/features/verify/answer/verification-result.ts";
import { ContractResult } from "../../support/contract.ts";
import { type Action, repeat } from "../../support/mail-world/action.ts";
import { EXPECTATIONS, type Expectation } from "../../support/mail-world/behaviours.ts";
import type { Moment } from "../../support/mail-world/profile.ts";
import { createProcesses, type MainProcess, type Processes } from "../../support/processes.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * A process of the API against servers that try to use up its time or memory, or to provoke a false verdict. Each
 * request ends by the deadline with a clear answer, and bytes beyond the bounds of a reply are not buffered.
 */
const MEGABYTE = 1_048_576;
/** Far above what answers at the deadline take; a test that gets here hangs. */
const TIMEOUT_MS = 300_000;
const NEEDS_PROC = { timeout: TIMEOUT_MS, skip: !existsSync("/proc/self/status") && "needs /proc" };

let deployment: TestDeployment;
let processes: Processes;
let api: MainProcess;
let url: string;
let key: string;

before(async () => {
  deployment = await createDeployment();
  processes = createProcesses();
  api = processes.start({ ...deployment.settings, ROLE: "api", VERIFY_DEADLINE_MS: "2000" });
  url = await api.ready;
  key = (await deployment.team("enterprise")).liveKey;
});
after(async () => {
  await processes.close();
  await deployment.stop();
});

/** Polls again after a 503: Postgres may be slow on a loaded machine, whatever the servers do. */
function verify(email: string): Promise<VerificationResult> {
  return until(`${email} is answered`, async () => {
    const response = await fetch(`${url}/v1/verify?email=${encodeURIComponent(email)}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const body = (await response.json()) as VerificationResult;
    if (response.status === 503) return null;
    assert.equal(response.status, 200, email);
    v.assert(ContractResult, body);
    return body;
  });
}

/** As many addresses as `count` that a server treats as it treats this one. */
function variants(address: string, count: number): string[] {
  const at = address.lastIndexOf("@");
  return Array.from({ length: count }, (_, i) => `${address.slice(0, at)}-${i}${address.slice(at)}`);
}

const noConnections = () => deployment.world.hosts().every(({ account }) => account.open === 0);

/** The most memory that the process has had resident, in bytes. */
function peakResident(): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${api.pid}/status`, "utf8")) ?? [];
  return Number(kilobytes ?? assert.fail("no VmHWM")) * 1024;
}

/** From now on the peak is that of now. Where the system does not allow it, the start's peak counts too. */
function forgetPeak(): void {
  try {
    writeFileSync(`/proc/${api.pid}/clear_refs`, "5");
  } catch {}
}

/** The target of each descriptor of the process, e.g. `socket:[4711]`; those that close meanwhile are omitted. */
function descriptors(): string[] {
  const folder = `/proc/${api.pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      return [];
    }
  });
}

/** Number of its sockets that are, or were, connected to a mail server. */
function smtpSockets(): number {
  const own = new Set(descriptors());
  const port = deployment.world.smtpPort.toString(16).toUpperCase().padStart(4, "0");
  return ["tcp", "tcp6"]
    .flatMap((family) => readFileSync(`/proc/${api.pid}/net/${family}`, "utf8").trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote, , , , , , , inode]) => remote?.endsWith(`:${port}`) && own.has(`socket:[${inode}]`))
    .length;
}

const EACH = 4;
const isHostile = ({ expected, needs, holds }: Expectation) =>
  needs === undefined && (expected.verdict === "unknown" || holds === true);

describe("servers and zones that misbehave, all at once, each asked several times", () => {
  it(
    "are each answered clearly, at the latest by the deadline; none forges a verdict",
    NEEDS_PROC,
    async () => {
      const asked = EXPECTATIONS.filter(isHostile).flatMap((row) =>
        variants(row.address, EACH).map((address) => ({ ...row, address })),
      );
      const answers = await Promise.all(asked.map(async (row) => ({ row, body: await verify(row.address) })));
      for (const { row, body } of answers) {
        const { address, expected } = row;
        const answer = [body.verdict, body.reason];
        // The behaviours of this host share its connections, and end each other's.
        const also = address.endsWith("@rude.test") ? ["smtp_protocol_error", "timeout"] : [];
        if (["deadline", ...also].includes(body.reason)) assert.equal(body.verdict, "unknown", address);
        else assert.deepEqual(answer, [expected.verdict, expected.reason], address);
      }
      const inTime = answers.filter(({ body }) => body.reason !== "deadline");
      assert.ok(inTime.length > 0, "nothing but the deadline answered");
      assert.equal(deployment.world.host("mx.trap.test").account.connections, 0);
    },
  );

  it("get their connections back", NEEDS_PROC, async () => {
    await deployment.world.until(noConnections);
    await until("the sockets are closed", () => smtpSockets() === 0);
  });
});

describe("servers that never end a reply", () => {
  const MOMENTS: Moment[] = ["greeting", "ehlo", "mail", "rcpt"];
  const FLOODS: [what: string, flood: Action][] = [
    ["one line of 10 MB", repeat("250 ".padEnd(65_536, "x"), 10 * MEGABYTE)],
    ["lines without end", repeat("250-and another thing\r\n".repeat(512), Number.POSITIVE_INFINITY)],
    ["nothing but line ends", repeat("\r\n".repeat(8_192), 10 * MEGABYTE)],
    ["many whole replies", repeat("250 2.1.5 Ok\r\n".repeat(1_024), 10 * MEGABYTE)],
  ];
  const GROWTH_MAX = 64 * MEGABYTE;
  const DESCRIPTOR_SLACK = 20;

  /** Hosts that are well otherwise, in clear and under TLS. */
  const FLOODING = [
    ...["plain", "lockstep", "one-recipient", "multiline", "catchall", "no-enhanced", "german", "utf8"],
    ...["helo-only", "tls", "tls-required", "blocked", "limited", "error-limit", "connection-limit"],
  ];

  /**
   * Each host answers one moment with the flood, and is asked about new addresses. Later moments too: an idle session
   * of an earlier round is past the greeting.
   */
  async function round(moment: Moment, flood: Action, name: string): Promise<VerificationResult[]> {
    const hosts = FLOODING.map((domain) => deployment.world.host(`mx.${domain}.test`));
    const moments = MOMENTS.slice(MOMENTS.indexOf(moment));
    for (const host of hosts) for (const each of moments) host.setBehaviour(each, () => flood);
    const asked = FLOODING.flatMap((domain) => variants(`exists-${name}@${domain}.test`, EACH));
    const answers = await Promise.all(asked.map(verify));
    for (const host of hosts) for (const each of moments) host.setBehaviour(each, null);
    return answers;
  }

  it("fill no memory and keep no socket", NEEDS_PROC, async () => {
    const { world } = deployment;
    for (const moment of MOMENTS) await round(moment, repeat("250 x", 10 * MEGABYTE), `warm-up-${moment}`);
    await world.until(noConnections);
    forgetPeak();
    const [resident, open] = [peakResident(), descriptors().length];
    world.resetCounters();

    for (const [i, [what, flood]] of FLOODS.entries()) {
      for (const moment of MOMENTS) {
        for (const { verdict, reason } of await round(moment, flood, `${moment}-${i}`))
          assert.equal(verdict, "unknown", `${what} at ${moment}: ${reason}`);
      }
    }
    // On a loaded machine deadlines come before connections: until there were enough to show anything.
    const connections = () => world.hosts().reduce((sum, { account }) => sum + account.connections, 0);
    for (let more = 0; connections() * 10 * MEGABYTE <= 10 * GROWTH_MAX; more++)
      await round("greeting", repeat("250 x", 10 * MEGABYTE), `more-${more}`);
    await world.until(noConnections);
    await until("the sockets are closed", () => smtpSockets() === 0);
    const grown = peakResident() - resident;
    assert.ok(grown < GROWTH_MAX, `${grown} bytes more are resident`);
    // Connections of the test's own requests are kept alive for some seconds.
    await until("its descriptors are given back", () => descriptors().length < open + DESCRIPTOR_SLACK);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
  });

  it("and then are as good as any", async () => {
    await until("one is answered before the deadline", async () => {
      const { verdict, reason } = await verify("exists-after@plain.test");
      if (reason === "deadline") return false;
      assert.equal(verdict, "valid");
      return true;
    });
  });
});

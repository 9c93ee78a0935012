import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { ChaosDeployment } from "../../../scripts/chaos/deployment/deployment.ts";
import { Member, type MemberContext, StartError } from "../../../scripts/chaos/deployment/member.ts";
import type { FaultContext } from "../../../scripts/chaos/faults/injury.ts";
import { kill } from "../../../scripts/chaos/faults/process-injuries.ts";

const dir = mkdtempSync(join(tmpdir(), "rcpt-chaos-start-"));
const plan = join(dir, "plan");
const entry = join(dir, "main.mjs");
after(() => rmSync(dir, { recursive: true, force: true }));

// Each process does what the first line of the plan says, and leaves the rest to the next.
writeFileSync(
  entry,
  `import { readFileSync, writeFileSync } from "node:fs";
  const [first, ...rest] = readFileSync(${JSON.stringify(plan)}, "utf8").split("\\n");
  writeFileSync(${JSON.stringify(plan)}, rest.join("\\n"));
  process.on("disconnect", () => process.exit(0));
  if (first === "serve") process.send({ type: "ready" });
  else if (first.startsWith("SIG")) process.kill(process.pid, first);
  else process.exit(Number(first));
`,
);

/** A process that serves, is killed while Postgres is away or not, and whose successors do as `starts` says. */
async function killed(starts: string[], postgresAway: boolean) {
  const guard = { pid: 0, env: { RCPT_RUN: "test" }, hold() {}, removeAtEnd() {}, async end() {} };
  const memberContext: MemberContext = {
    guard,
    entry,
    dir,
    logsDir: dir,
    settings: {},
    clock: null,
    ownDisks: false,
  };
  const member = new Member("api", 1, 1, memberContext);
  const outages: FaultContext["outages"] = [];
  if (postgresAway)
    outages.push({ kind: "postgres-restart", target: "postgres", fromMs: 0, toMs: Number.POSITIVE_INFINITY });
  const context = {
    outages,
    deployment: { members: [member] } as unknown as ChaosDeployment,
  } as FaultContext;
  writeFileSync(plan, ["serve", ...starts].join("\n"));
  await member.start();
  try {
    await kill({ kind: "kill", atMs: 0, holdMs: 0, pick: 0 }, context);
  } finally {
    await member.end("SIGKILL");
  }
  assert.equal(readFileSync(plan, "utf8"), "");
  return member;
}

describe("a process of a storm that is started again", () => {
  it("is started until it serves while it fails for want of Postgres", async () => {
    const member = await killed(["75", "75", "serve"], true);
    assert.equal(member.starts, 4);
    assert.deepEqual(member.crashes, []);
  });

  it("ends the storm when Postgres was there, when it crashes, and when it is set wrongly", async () => {
    const endsBy = (how: string) => (error: unknown) => error instanceof StartError && error.how === how;
    await assert.rejects(killed(["75"], false), endsBy("exit code 75"));
    await assert.rejects(killed(["1"], true), endsBy("exit code 1"));
    await assert.rejects(killed(["SIGKILL"], true), endsBy("SIGKILL"));
    await assert.rejects(killed(["2"], true), endsBy("exit code 2"));
  });
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { makeScarce } from "../../../scripts/chaos/overload/scarce-core.ts";
import { until } from "../../support/until.ts";

/** R, S, T…: see proc(5). */
const stateOf = (pid: number) =>
  /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "gone";

async function startIdler() {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(child, "spawn");
  assert.ok(child.pid !== undefined);
  return { child, pid: child.pid };
}

describe("a process that gets a part of its core", { skip: process.platform !== "linux" }, () => {
  it("is stopped and goes on by turns, and goes on for good in the end", async (t) => {
    const { child, pid } = await startIdler();
    t.after(() => child.kill("SIGKILL"));
    const scarcity = await makeScarce(pid);
    for (let turn = 0; turn < 2; turn++) {
      await until("it is stopped", () => stateOf(pid) === "T");
      await until("it goes on", () => stateOf(pid) !== "T");
    }
    await scarcity.end();
    assert.notEqual(stateOf(pid), "T");
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "exit"), [null, "SIGTERM"]);
  });

  it("may end meanwhile", async () => {
    const { child, pid } = await startIdler();
    const scarcity = await makeScarce(pid);
    child.kill("SIGKILL");
    await once(child, "exit");
    await scarcity.end();
  });
});

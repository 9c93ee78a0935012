import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Guard, startGuard } from "../../../scripts/embedded/guard.ts";
import { startOf } from "../../../scripts/processes.mjs";

/** A process that says `up`, then does `code`. */
async function victim(
  code: string,
  env: Record<string, string> = {},
): Promise<ChildProcess & { pid: number }> {
  const script = `${code}; setInterval(() => {}, 1000); console.log("up")`;
  const child = spawn(process.execPath, ["-e", script], {
    env: { ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  assert.ok(child.stdout && child.pid);
  await once(child.stdout, "data");
  return Object.assign(child, { pid: child.pid });
}

async function endOf(child: ChildProcess, guard: Guard): Promise<NodeJS.Signals | null> {
  const ended = once(child, "exit");
  await guard.end();
  const [, signal] = await ended;
  return signal;
}

test("what is held is ended by its signal, paths are removed, the guard goes too", async () => {
  const guard = startGuard();
  const folder = mkdtempSync(join(tmpdir(), "rcpt-guard-"));
  const child = await victim("");
  const { pid } = guard;
  guard.hold(child.pid, "SIGINT", 10_000);
  guard.removeAtEnd(folder);
  assert.equal(await endOf(child, guard), "SIGINT");
  assert.equal(existsSync(folder), false);
  assert.equal(startOf(pid), null);
});

test("what ignores its signal is killed after its grace", async () => {
  const guard = startGuard();
  const child = await victim('process.on("SIGTERM", () => {})');
  guard.hold(child.pid, "SIGTERM", 50);
  assert.equal(await endOf(child, guard), "SIGKILL");
});

test("unregistered processes are found by their mark; others are left alone", async () => {
  const guard = startGuard();
  const marked = await victim("", guard.env);
  const other = await victim("", { RCPT_RUN: "another run" });
  assert.equal(await endOf(marked, guard), "SIGTERM");
  assert.notEqual(startOf(other.pid), null);
  other.kill("SIGKILL");
  await once(other, "exit");
});

test("a killed guard has a successor that knows everything", async () => {
  const guard = startGuard();
  const child = await victim("");
  guard.hold(child.pid, "SIGTERM", 10_000);
  const { pid } = guard;
  process.kill(pid, "SIGKILL");
  while (guard.pid === pid) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await endOf(child, guard), "SIGTERM");
});

test("what starts after the end has begun is killed at once", async () => {
  const guard = startGuard();
  await guard.end();
  const child = await victim("");
  const ended = once(child, "exit");
  assert.throws(() => guard.hold(child.pid, "SIGTERM", 10_000), /being stopped/);
  assert.equal((await ended)[1], "SIGKILL");
});

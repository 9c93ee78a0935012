// Alone in its process: it changes the environment.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startOf } from "../../../scripts/processes.mjs";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createSupervisor, type RoleReady, type Supervisor } from "../../../src/supervisor.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const entry = fileURLToPath(new URL("./role.fixture.mjs", import.meta.url));
const { supervisor: limits } = LIMITS;

/** A supervisor on a clock that stands still; each restart that it announces is an event with its delay. */
function supervise(behaviour: string, second: "relay" | "bulk" = "relay") {
  process.env.RCPT_TEST_ROLE_BEHAVIOUR = behaviour;
  const clock = createFakeClock();
  const restarts = new EventEmitter();
  const log = createLog("silent");
  log.error = ((fields: { role: string; delayMs?: number }) =>
    restarts.emit("restart", fields)) as typeof log.error;
  const supervisor = createSupervisor({
    roles: ["api", second],
    entry,
    execArgv: [],
    log,
    clock,
    graceMs: 1_000,
  });
  running = supervisor;
  return { supervisor, clock, nextRestart: async () => (await once(restarts, "restart"))[0] };
}

let running: Supervisor | undefined;
afterEach(() => running?.stop());

const pidOf = (ready: RoleReady[], role: string) => ready.find((r) => r.role === role)?.port ?? 0;

test("one process a role, each with its own ROLE; stop leaves none", async () => {
  const { supervisor } = supervise("serve");
  const ready = await supervisor.start();
  assert.deepEqual(
    ready.map(({ role, metricsPort }) => ({ role, metricsPort })),
    [
      { role: "api", metricsPort: 9090 },
      { role: "relay", metricsPort: 0 },
    ],
  );
  await supervisor.stop();
  for (const role of ["api", "relay"]) assert.equal(startOf(pidOf(ready, role)), null);
});

test("a role that was killed is started again, after a wait", async () => {
  const { supervisor, clock, nextRestart } = supervise("serve");
  const ready = await supervisor.start();
  const announced = nextRestart();
  process.kill(pidOf(ready, "relay"), "SIGKILL");
  const restart = await announced;
  assert.equal(restart.role, "relay");
  assert.equal(restart.delayMs, limits.restartFirstMs);
  const again = nextRestart();
  clock.advance(limits.restartFirstMs);
  // Kills all running roles: only a role that was started again can end again.
  clock.advance(limits.readyWithinMs);
  assert.equal((await again).role, "relay");
});

test("one that fails quickly again and again is given up, after longer and longer waits", async () => {
  const { supervisor, clock, nextRestart } = supervise("serve");
  const delays: number[] = [];
  const ready = await supervisor.start();
  process.env.RCPT_TEST_ROLE_BEHAVIOUR = "refuse-to-start";
  let announced = nextRestart();
  process.kill(pidOf(ready, "relay"), "SIGKILL");
  for (let i = 0; i < limits.quickFailures; i++) {
    delays.push((await announced).delayMs);
    announced = nextRestart();
    clock.advance(delays[i] ?? 0);
  }
  const error = await supervisor.gaveUp;
  assert.match(error.message, /role relay failed 6 times in a row, the last time with exit code 3/);
  assert.deepEqual(delays, [200, 400, 800, 1_600, 3_200]);
});

test("bulk is not: the others go on, and it is tried again and again, slowly", async () => {
  const { supervisor, clock, nextRestart } = supervise("serve", "bulk");
  const delays: number[] = [];
  const ready = await supervisor.start();
  let hasGivenUp = false;
  void supervisor.gaveUp.then(() => {
    hasGivenUp = true;
  });
  process.env.RCPT_TEST_ROLE_BEHAVIOUR = "refuse-to-start";
  let announced = nextRestart();
  process.kill(pidOf(ready, "bulk"), "SIGKILL");
  for (let i = 0; i < limits.quickFailures + 2; i++) {
    delays.push((await announced).delayMs);
    announced = nextRestart();
    clock.advance(delays[i] ?? 0);
  }
  assert.deepEqual(delays.slice(limits.quickFailures), [limits.restartSlowMs, limits.restartSlowMs]);
  assert.equal(hasGivenUp, false);
  assert.notEqual(startOf(pidOf(ready, "api")), null);
});

test("a role that cannot start at all fails the start", async () => {
  const { supervisor } = supervise("refuse-to-start");
  await assert.rejects(supervisor.start(), /role relay ended \(exit code 3\)/);
  await supervisor.stop();
});

test("one that ignores SIGTERM is killed when its grace is over", async () => {
  const { supervisor, clock } = supervise("ignore-sigterm");
  const ready = await supervisor.start();
  let isStopped = false;
  const stopped = supervisor.stop().then(() => {
    isStopped = true;
  });
  await clock.advanceAsync(1_000 + limits.killAfterGraceMs - 1);
  assert.equal(isStopped, false);
  assert.notEqual(startOf(pidOf(ready, "api")), null);
  clock.advance(1);
  await stopped;
  assert.equal(startOf(pidOf(ready, "api")), null);
});

test("haste is passed on to the roles, who need not be killed then", async () => {
  const { supervisor } = supervise("wait-for-haste");
  const ready = await supervisor.start();
  const stopped = supervisor.stop();
  supervisor.hurry();
  // Its clock stands still: no grace ends.
  await stopped;
  for (const role of ["api", "relay"]) assert.equal(startOf(pidOf(ready, role)), null);
  supervisor.hurry();
});

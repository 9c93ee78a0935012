import assert from "node:assert/strict";
import { describe, it } from "node:test";
import postgres from "postgres";
import { ConfigError } from "../../../../src/config/config.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { EXIT, exitCodeOf, Unavailable } from "../../../../src/platform/exit-codes.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createOutageWait, withOutageWait } from "../../../../src/stores/postgres/outage-wait.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const { startPollMs, startLogMs, startWaitMs } = LIMITS.postgres;
const away = () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));

/** As the server says it, on a connection that was made. */
const said = (code: string, message: string) =>
  Object.assign(Object.create(postgres.PostgresError.prototype), { code, message }) as Error;

function waiting() {
  const clock = createFakeClock();
  const lines: { level: string; msg: string; why?: string; give_up_s?: number }[] = [];
  const sink = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog("info", {}, sink);
  return { clock, lines, log, wait: createOutageWait({ clock, log }) };
}

describe("a start without Postgres", () => {
  it("is made again until Postgres is there, and says so at once and at the end", async () => {
    const { clock, lines, wait } = waiting();
    let isAway = true;
    let attempts = 0;
    const started = wait.retryThroughOutage(() => {
      attempts += 1;
      return isAway ? away() : Promise.resolve("there");
    });
    await clock.advanceAsync(startPollMs);
    assert.equal(attempts, 2);
    isAway = false;
    await clock.advanceAsync(startPollMs);
    assert.equal(await started, "there");
    assert.deepEqual(
      lines.map(({ level, msg, why, give_up_s }) => ({ level, msg, why, give_up_s })),
      [
        {
          level: "warn",
          msg: "Postgres is unavailable: waiting for it",
          why: "connect ECONNREFUSED",
          give_up_s: startWaitMs / 1_000,
        },
        { level: "info", msg: "Postgres is available again", why: undefined, give_up_s: undefined },
      ],
    );
    assert.equal(clock.pending, 0);
  });

  it("says nothing where Postgres is there", async () => {
    const { lines, wait } = waiting();
    assert.equal(await wait.retryThroughOutage(() => Promise.resolve(1)), 1);
    assert.deepEqual(lines, []);
  });

  it("says once in a while that it waits, and gives up when its time is over, with an exit code of its own", async () => {
    const { clock, lines, wait } = waiting();
    const outcome = wait.retryThroughOutage(away).catch((error: unknown) => error);
    for (let ms = 0; ms < startWaitMs; ms += startPollMs) await clock.advanceAsync(startPollMs);
    const error = await outcome;
    assert.ok(error instanceof Unavailable);
    assert.equal(error.message, `Postgres has been away for ${startWaitMs / 1_000} s: connect ECONNREFUSED`);
    assert.equal(exitCodeOf(error), EXIT.unavailable);
    assert.equal(lines.length, startWaitMs / startLogMs);
    assert.equal(clock.pending, 0);
  });

  it("counts its time from the beginning of each outage", async () => {
    const { clock, wait } = waiting();
    let isAway = true;
    const attempt = () => (isAway ? away() : Promise.resolve("there"));
    const first = wait.retryThroughOutage(attempt);
    await clock.advanceAsync(startWaitMs - startPollMs);
    isAway = false;
    await clock.advanceAsync(startPollMs);
    assert.equal(await first, "there");
    isAway = true;
    const second = wait.retryThroughOutage(attempt);
    await clock.advanceAsync(startWaitMs - startPollMs);
    isAway = false;
    await clock.advanceAsync(startPollMs);
    assert.equal(await second, "there");
  });

  it("ends at once when it is stopped, whatever the current attempt's outcome", async () => {
    const { clock, wait } = waiting();
    const pausing = wait.retryThroughOutage(away);
    await clock.advanceAsync(startPollMs / 2);
    wait.stop();
    assert.equal(await pausing, null);
    assert.equal(clock.pending, 0);
    const { wait: other } = waiting();
    let fail = (_error: Error) => {};
    const asking = other.retryThroughOutage(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    other.stop();
    fail(new Error("write CONNECTION_ENDED"));
    assert.equal(await asking, null);
    assert.equal(await other.retryThroughOutage(away), null);
  });

  for (const [code, message] of [
    ["28P01", 'password authentication failed for user "rcpt"'],
    ["28000", 'no pg_hba.conf entry for host "10.0.0.1"'],
    ["3D000", 'database "rcpt" does not exist'],
    ["08P01", "unsupported startup parameter: statement_timeout"],
  ] as const)
    it(`does not wait where Postgres says no: ${code}`, async () => {
      const { lines, wait } = waiting();
      const outcome = wait
        .retryThroughOutage(() => Promise.reject(said(code, message)))
        .catch((error: unknown) => error);
      const error = await outcome;
      assert.ok(error instanceof ConfigError);
      assert.equal(error.message, `DATABASE_URL: Postgres refuses access: ${message}`);
      assert.equal(exitCodeOf(error), EXIT.misconfigured);
      assert.deepEqual(lines, []);
    });

  for (const [code, message] of [
    ["57P03", "the database system is starting up"],
    ["53300", "sorry, too many clients already"],
    ["25006", "the server is a standby that is not promoted yet"],
    ["08P01", "server login has been failing, try again later (server_login_retry)"],
  ] as const)
    it(`waits where that passes: ${code}`, async () => {
      const { clock, wait } = waiting();
      let attempts = 0;
      const started = wait.retryThroughOutage(() => {
        attempts += 1;
        return attempts === 1 ? Promise.reject(said(code, message)) : Promise.resolve("there");
      });
      await clock.advanceAsync(startPollMs);
      assert.equal(await started, "there");
    });

  it("lets through what is no outage: that is a failure like any other", async () => {
    const { wait } = waiting();
    const error = await wait
      .retryThroughOutage(() => Promise.reject(new TypeError("ours")))
      .catch((e: unknown) => e);
    assert.ok(error instanceof TypeError);
    assert.equal(exitCodeOf(error), EXIT.failed);
  });
});

describe("a part that outlasts an outage", () => {
  it("is started again, and stops waiting when it is drained, before the part itself is drained", async () => {
    const { clock, log } = waiting();
    const done: string[] = [];
    const part = withOutageWait(
      {
        name: "postgres",
        start() {
          done.push("start");
          return away();
        },
        drain: () => void done.push("drain"),
        stop: () => void done.push("stop"),
      },
      { clock, log },
    );
    const started = part.start?.();
    await clock.advanceAsync(startPollMs);
    await part.drain?.();
    await started;
    await part.stop?.();
    assert.equal(part.name, "postgres");
    assert.deepEqual(done, ["start", "start", "drain", "stop"]);
  });
});

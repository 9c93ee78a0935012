import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "../../support/properties.ts";
import { createPoolFixture } from "./fixture.ts";
import { type Answer, createScriptedServer } from "./scripted-server.ts";

/** What a server does instead of replying; in most cases it behaves well. */
const habit = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Answer>(
      null,
      "",
      { close: "" },
      { close: "421 4.3.2 Closing\r\n" },
      { close: "550 5.1.1 Unknown and goodbye\r\n" },
      "421 4.7.0 Not now\r\n",
      "250 2.1.5 Ok\r\n250 2.1.5 Ok\r\n",
      "550 5.1.1 No\r\n550 5.1.1 No\r\n",
      "452 4.5.3 Too many recipients\r\n",
      "354 Go on\r\n",
      "250-never\r\n",
      "250 cut off",
      "\r\n",
      "250 ".padEnd(9_000, "x"),
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
);

describe("a server that does as it pleases", () => {
  it("gets every recipient to an end, and leaves nothing open", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(habit, { minLength: 1, maxLength: 60 }),
        fc.boolean(),
        async (habits, pipelining) => {
          let read = 0;
          const server = await createScriptedServer((line) => {
            if (line.startsWith("EHLO") && !pipelining) return "250 mx.test\r\n";
            return line.startsWith("EHLO") ? undefined : habits[read++ % (habits.length * 2)];
          });
          const fixture = createPoolFixture(server.port);
          const names = Array.from({ length: 12 }, (_, i) => `user${i}`);
          const jobs = names.map((name) =>
            fixture.rcpt(`${name}@x.test`, {
              deadlineMs: 60_000,
              maxConnections: 2,
              rejectionsPerSession: 4,
            }),
          );
          let ended = 0;
          for (const job of jobs) void job.then(() => ended++);
          while (ended < jobs.length) await fixture.clock.advanceAsync(250);
          fixture.pool.close();
          for (const outcome of await Promise.all(jobs)) {
            assert.equal(outcome.address, "127.0.0.1");
            if (outcome.kind === "reply") assert.ok(outcome.reply.code < 300 || outcome.reply.code >= 400);
          }
          while (fixture.slots.stats().waiting > 0) await fixture.clock.advanceAsync(1_000);
          await fixture.end();
          await server.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPoolFixture, summary } from "./fixture.ts";
import { type Answer, createScriptedServer, type Dialogue } from "./scripted-server.ts";

async function withServer(
  script: ((line: string, dialogue: Dialogue) => Answer | undefined) | undefined,
  story: (
    server: Awaited<ReturnType<typeof createScriptedServer>>,
    fixture: ReturnType<typeof createPoolFixture>,
  ) => Promise<void>,
): Promise<void> {
  const server = await createScriptedServer(script);
  const fixture = createPoolFixture(server.port);
  await story(server, fixture);
  await fixture.end();
  await server.close();
}

const names = (size: number) =>
  Array.from({ length: size }, (_, i) => (i % 3 === 1 ? `missing${i}` : `user${i}`));
const expectedOf = (name: string) => (name.startsWith("missing") ? "rcpt 550" : "rcpt 250");

describe("pipelining", () => {
  it("puts more transactions into a write as they succeed, up to the site's depth", () =>
    withServer(undefined, async (server, fixture) => {
      const all = names(60);
      const ends = await Promise.all(
        all.map((name) => fixture.rcpt(`${name}@x.test`, { pipelineDepthMax: 4 })),
      );
      assert.deepEqual(ends.map(summary), all.map(expectedOf));
      assert.equal(server.connections.length, 1);
      assert.equal(server.maxBurst, 12);
      const { transactions, groups, writes, answered } = fixture.traffic;
      assert.deepEqual([transactions, groups], [60, 60]);
      // The depth grows from one, and never beyond the site's.
      assert.ok(writes >= 60 / 4 && writes < 60, `${writes} writes`);
      // Time stands still.
      assert.deepEqual(answered.take(), { counts: [60, ...new Array(12).fill(0)], sum: 0 });
    }));

  it("is not used where it is not offered: one command at a time", () =>
    withServer(
      (line) => (line.startsWith("EHLO") ? "250 mx.test\r\n" : undefined),
      async (server, fixture) => {
        const all = names(20);
        const ends = await Promise.all(all.map((name) => fixture.rcpt(`${name}@x.test`)));
        assert.deepEqual(ends.map(summary), all.map(expectedOf));
        assert.equal(server.maxBurst, 1);
        const { transactions, groups, writes } = fixture.traffic;
        assert.deepEqual([transactions, groups, writes], [20, 0, 0]);
      },
    ));

  it("survives a hang-up in the middle: each recipient has its own answer", () =>
    withServer(
      (line, { connection }) => (connection === 1 && line.includes("<user12@") ? { close: "" } : undefined),
      async (server, fixture) => {
        const all = names(30);
        const ends = await Promise.all(all.map((name) => fixture.rcpt(`${name}@x.test`)));
        assert.deepEqual(ends.map(summary), all.map(expectedOf));
        assert.ok(server.connections.length > 1);
      },
    ));

  it("gives a 421 in the middle to the one in turn and asks about the others elsewhere", () =>
    withServer(
      (line) => (line.includes("<user12@") ? { close: "421 4.7.0 Enough\r\n" } : undefined),
      async (_, fixture) => {
        const all = names(30);
        const ends = await Promise.all(all.map((name) => fixture.rcpt(`${name}@x.test`)));
        const expected = all.map((name) => (name === "user12" ? "rcpt 421" : expectedOf(name)));
        assert.deepEqual(ends.map(summary), expected);
      },
    ));

  it("fails the whole write when the server answers once too often, rather than mix them up", () =>
    withServer(
      (line) => (line.includes("<user12@") ? "250 2.1.5 Ok\r\n250 2.1.5 Ok\r\n" : undefined),
      async (_, fixture) => {
        const all = names(30);
        const ends = await Promise.all(all.map((name) => fixture.rcpt(`${name}@x.test`)));
        const failed = ends.filter((end) => end.kind === "failure");
        assert.ok(failed.length > 0 && failed.every((end) => summary(end).endsWith("protocol")));
        ends.forEach((end, i) => {
          if (end.kind === "reply") assert.equal(summary(end), expectedOf(all[i] ?? ""));
        });
      },
    ));

  it("does not let a reply over the bounds hurt those before it", () =>
    withServer(
      (line) => (line.includes("<user12@") ? "250 ".padEnd(100_000, "x") : undefined),
      async (_, fixture) => {
        const all = names(30);
        const ends = await Promise.all(all.map((name) => fixture.rcpt(`${name}@x.test`)));
        const expected = all.map((name) => (name === "user12" ? "rcpt reply_too_long" : expectedOf(name)));
        assert.deepEqual(ends.map(summary), expected);
      },
    ));
});

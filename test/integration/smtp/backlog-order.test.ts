import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { createPoolFixture, POLICY, type PoolFixture } from "./fixture.ts";
import { type Answer, createScriptedServer, type Dialogue, type ScriptedServer } from "./scripted-server.ts";

const opened: { server: ScriptedServer; fixture: PoolFixture }[] = [];

async function start(script?: (line: string, dialogue: Dialogue) => Answer | undefined) {
  const server = await createScriptedServer(script);
  const fixture = createPoolFixture(server.port);
  const pair = { server, fixture };
  opened.push(pair);
  return pair;
}

afterEach(async () => {
  for (const { server, fixture } of opened.splice(0)) {
    await fixture.end();
    await server.close();
  }
});

const IN_LOCK_STEP = "250-mx.test\r\n250 ENHANCEDSTATUSCODES\r\n";

describe("the backlog of a host", () => {
  it("is overtaken by urgent jobs, and notifies each job when its turn has come", async () => {
    const { server, fixture } = await start((line) => (line === "RCPT TO:<first@x.test>" ? null : undefined));
    const turns: string[] = [];
    const ask = (name: string, urgent = false) =>
      fixture.rcpt(`${name}@x.test`, { urgent, onTurn: () => turns.push(name) });
    const asked = [ask("first")];
    await server.until(() => server.connections[0]?.at(-1) === "RSET");
    asked.push(ask("b"), ask("c"), ask("urgent", true));
    assert.deepEqual(turns, ["first"]);
    // The reply to RSET took the place of the withheld one: one is missing.
    server.say("250 2.0.0 Ok\r\n");
    await Promise.all(asked);
    assert.deepEqual(turns, ["first", "urgent", "b", "c"]);
    assert.deepEqual(
      server.connections[0]?.filter((line) => line.startsWith("RCPT")),
      ["first", "urgent", "b", "c"].map((name) => `RCPT TO:<${name}@x.test>`),
    );
  });
});

describe("what a site's sessions take at once", () => {
  it("is what its policy allows as long as nothing else is known", async () => {
    const { fixture } = await start();
    const depth = () => fixture.pool.depthAt("site", POLICY);
    assert.equal(depth(), POLICY.pipelineDepthMax);
    await fixture.rcpt("a@x.test");
    assert.equal(depth(), POLICY.pipelineDepthMax);
    assert.equal(fixture.pool.depthAt("site", { ...POLICY, pipelineDepthMax: 3 }), 3);
  });

  it("is one where pipelining is not offered, unless another host of the site offers it", async () => {
    const { fixture } = await start((line) => (line.startsWith("EHLO") ? IN_LOCK_STEP : undefined));
    await fixture.rcpt("a@x.test");
    assert.equal(fixture.pool.depthAt("site", POLICY), 1);
    assert.equal(fixture.pool.depthAt("another", POLICY), POLICY.pipelineDepthMax);
  });

  it("is less after the server wanted less, until it has shown that it takes more", async () => {
    const { fixture } = await start((line, { connection }) => {
      if (connection === 1 && line === "RCPT TO:<many@x.test>") return "452 4.5.3 Too many recipients\r\n";
      return undefined;
    });
    await fixture.rcpt("a@x.test");
    await fixture.rcpt("many@x.test");
    assert.equal(
      fixture.pool.depthAt("site", POLICY),
      2,
      "one, and one more for the batch that went well since",
    );
    for (let i = 0; i < 5; i++) await fixture.rcpt(`alone${i}@x.test`);
    assert.equal(fixture.pool.depthAt("site", POLICY), 3, "writes of one show no more");
    const most = POLICY.pipelineDepthMax;
    await Promise.all(Array.from({ length: most * most }, (_, i) => fixture.rcpt(`u${i}@x.test`)));
    assert.equal(fixture.pool.depthAt("site", POLICY), POLICY.pipelineDepthMax);
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AppError } from "../../../src/core/errors.ts";
import { plainEmail } from "../../../src/http/short-miss.ts";
import { newSecret } from "../../../src/services/api-key.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { connect, type RawReply } from "../../support/raw-http.ts";
import { type ReadyWorld, startReadyWorld } from "../../support/ready-world.ts";

const KEY = newSecret("live");
const STARTER = newSecret("live");
const TEST = newSecret("test");
const SESSION = newSecret("sess");
const LIMITED = { dailyQuota: 1_000_000, ratePerS: 5_000, rateBurst: 10_000 };
/** Requests until leases of tokens and units have grown so far that nobody waits for one. */
const MANY = 40;

const get = (query: string, ...fields: string[]) =>
  `GET /v1/verify?${query} HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`;
const bearer = (key: string) => `Authorization: Bearer ${key}`;

function setUp(world: ReadyWorld): void {
  world.set(
    KEY,
    {},
    { id: "team_1", limits: LIMITED, blocklist: [{ domain: "blocked.test", includeSubdomains: false }] },
  );
  world.set(STARTER, {}, { id: "team_2", tier: "starter", limits: LIMITED });
  world.set(TEST, { kind: "test" }, { id: "team_1" });
  world.set(SESSION, { kind: "session", expiresInMs: 3_600_000 }, { id: "team_1" });
  world.keep("known@new.test", evidenceWith({ smtp: smtpWith() }), 86_400);
  world.bring("plain@new.test", evidenceWith({ smtp: smtpWith() }));
  world.bring("info@new.test", evidenceWith({ role: "info", smtp: smtpWith() }));
  world.bring("a+tag@new.test", evidenceWith());
  world.bring("later@new.test", evidenceWith({ smtp: smtpWith({ class: "greylisted", code: 450 }) }));
  world.bring(
    "full@new.test",
    new AppError("overloaded", "Too many checks are under way.", { retryAfterS: 1 }),
  );
  world.bring("broken@new.test", new Error("a check broke"));
  for (const who of ["late", "gone", "last"]) world.bring(`${who}@new.test`, "never");
}

async function ask(world: ReadyWorld, request: string): Promise<RawReply> {
  const client = connect(world.port);
  client.send(request);
  try {
    return await client.reply();
  } finally {
    client.destroy();
  }
}

/** An answer as far as both ways have to agree on it. */
function comparable(reply: RawReply, request: string): unknown {
  const { date: _date, "x-request-id": id = "", ...headers } = reply.headers;
  const own = /x-request-id: *(\S+)/i.exec(request)?.[1] ?? "";
  const shown = id === own ? id : id.replace(/^req_[0-9a-hjkmnp-tv-z]{26}$/, "made here");
  const body = id === "" ? reply.body : reply.body.replaceAll(id, "<id>");
  return { status: reply.status, headers, id: shown, names: Object.keys(reply.headers), body };
}

/** Requests, and whether they are answered on the short way. */
const REQUESTS: Record<string, [request: string, isShort: boolean]> = {
  plain: [get("email=plain%40new.test", bearer(KEY)), true],
  "not encoded": [get("email=plain@new.test", bearer(KEY)), true],
  "an id of the caller's": [get("email=plain@new.test", bearer(KEY), "X-Request-Id: mine-1"), true],
  "an id that is none": [get("email=plain@new.test", bearer(KEY), "X-Request-Id: <script>"), true],
  "a role": [get("email=info@new.test", bearer(KEY)), true],
  "a literal plus": [get("email=a+tag@new.test", bearer(KEY)), true],
  "what is not drawn": [get("email=later@new.test", bearer(KEY)), true],
  "who proposes another": [get("email=plain@gmial.com", bearer(KEY)), true],
  "what nothing is found of": [get("email=nothing@new.test", bearer(KEY)), true],
  "a check that breaks": [get("email=broken@new.test", bearer(KEY)), true],
  "no room in the engine": [get("email=full@new.test", bearer(KEY)), true],
  "the same with an id": [get("email=full@new.test", bearer(KEY), "X-Request-Id: mine-2"), true],
  "a team that does not probe": [get("email=plain@new.test", bearer(STARTER)), true],
  "one that closes": [get("email=plain@new.test", bearer(KEY), "Connection: close"), true],
  "what is in memory": [get("email=known@new.test&evidence=0", bearer(KEY)), false],
  "a blocked domain": [get("email=plain@blocked.test", bearer(KEY)), false],
  "no address": [get("email=plain@-new.test", bearer(KEY)), false],
  "a dot too many": [get("email=a..b@new.test", bearer(KEY)), false],
  "an encoded plus": [get("email=a%2Btag%40new.test", bearer(KEY)), false],
  "spaces around it": [get("email=%20plain%40new.test", bearer(KEY)), false],
  refresh: [get("email=plain@new.test&refresh=true", bearer(KEY)), false],
  evidence: [get("email=plain@new.test&evidence=true", bearer(KEY)), false],
  "two addresses": [get("email=plain@new.test&email=plain@new.test", bearer(KEY)), false],
  "a test key": [get("email=plain@new.test", bearer(TEST)), false],
  "a session": [get("email=plain@new.test", bearer(SESSION)), false],
  "two ids": [get("email=plain@new.test", bearer(KEY), "X-Request-Id: a", "X-Request-Id: b"), false],
  "a body's length": [get("email=plain@new.test", bearer(KEY), "Content-Length: 0"), false],
};

describe("the short way to answers that have to be looked up", () => {
  let short: ReadyWorld;
  let long: ReadyWorld;
  before(async () => {
    [short, long] = [await startReadyWorld(true), await startReadyWorld(false)];
    for (const world of [short, long]) {
      setUp(world);
      for (let i = 0; i < MANY; i++)
        for (const key of [KEY, STARTER]) await ask(world, get("email=plain@new.test", bearer(key)));
    }
  });
  after(async () => {
    await Promise.all([short.close(), long.close()]);
  });

  async function compare(what: string, request: string): Promise<void> {
    const [one, other] = [await ask(short, request), await ask(long, request)];
    assert.deepEqual(comparable(one, request), comparable(other, request), what);
  }

  it("is taken for what is plain, and says what the general way says", async () => {
    for (const [what, [request, isShort]] of Object.entries(REQUESTS)) {
      const generally = short.general.count;
      await compare(what, request);
      assert.equal(short.general.count - generally, isShort ? 0 : 1, what);
    }
  });

  it("answers at the deadline", async () => {
    const request = get("email=late@new.test", bearer(KEY));
    const replies = [ask(short, request), ask(long, request)];
    await Promise.all([short, long].map((world) => underWay(world, 1)));
    await Promise.all([short, long].map(({ clock }) => clock.advanceAsync(5_100)));
    const [one, other] = (await Promise.all(replies)).map((reply) => comparable(reply, request));
    assert.deepEqual(one, other);
  });

  it("ends the check of who has gone, and charges nothing", async () => {
    for (const world of [short, long]) {
      const client = connect(world.port);
      client.send(get("email=gone@new.test", bearer(KEY)));
      await underWay(world, 1);
      client.destroy();
      await underWay(world, 0);
    }
    assert.deepEqual(short.left, long.left);
    assert.deepEqual(short.left, ["gone@new.test"]);
  });

  it("closes the connection of who waited while the process began to leave", async () => {
    const request = get("email=last@new.test", bearer(KEY));
    const replies = [ask(short, request), ask(long, request)];
    for (const world of [short, long]) {
      await underWay(world, 1);
      world.leave();
      await world.clock.advanceAsync(5_100);
    }
    const [one, other] = await Promise.all(replies);
    assert.equal(one?.headers.connection, "close");
    assert.deepEqual(one && comparable(one, request), other && comparable(other, request));
  });

  it("counts and charges what the general way does", async () => {
    const [one, other] = [await short.accounts(), await long.accounts()];
    assert.deepEqual(one, other);
  });
});

/** Until so many requests are being worked on. */
async function underWay(world: ReadyWorld, count: number): Promise<void> {
  while ((await world.inFlight()) !== count) await new Promise((resolve) => setImmediate(resolve));
}

describe("a plain query", () => {
  it("is an address alone, with nothing that stands for something else", () => {
    assert.equal(plainEmail("email=a.b+c%40d.test"), "a.b+c@d.test");
    assert.equal(plainEmail("email=a@d.test"), "a@d.test");
    for (const query of [
      "",
      "email=",
      "email=a",
      "email=a@b&x=1",
      "mail=a@b",
      "email=a%2540b.test",
      "email=a%40b%40c",
    ])
      assert.equal(plainEmail(query), null, query);
    assert.equal(plainEmail(`email=${"a".repeat(2_000)}@b.test`), null);
  });
});

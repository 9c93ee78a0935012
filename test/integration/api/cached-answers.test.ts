import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { connect, type RawReply } from "../../support/raw-http.ts";
import { type ReadyWorld, startReadyWorld } from "../../support/ready-world.ts";

const KEY = newSecret("live");
const OTHER = newSecret("live");
const FREE = newSecret("live");
const TEST = newSecret("test");
const SESSION = newSecret("sess");
const ACCEPTED = evidenceWith({ smtp: smtpWith() });
const LIMITED = { dailyQuota: 1_000_000, ratePerS: 5_000, rateBurst: 10_000 };

const get = (query: string, ...fields: string[]) =>
  `GET /v1/verify${query === "" ? "" : `?${query}`} HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`;
const bearer = (key: string) => `Authorization: Bearer ${key}`;
const PLAIN = get("email=a%40known.test", bearer(KEY));

function setUp(world: ReadyWorld): void {
  world.set(KEY, {}, { id: "team_1", limits: LIMITED });
  world.set(OTHER, {}, { id: "team_2", limits: LIMITED });
  world.set(FREE, {}, { id: "team_3", tier: "pro", limits: LIMITED });
  world.set(TEST, { kind: "test" }, { id: "team_1" });
  world.set(SESSION, { kind: "session", expiresInMs: 3_600_000 }, { id: "team_1" });
  for (const who of ["a", "b", "a+tag", "Mixed.Case"]) world.keep(`${who}@known.test`, ACCEPTED, 86_400);
  world.keepUnprobed("a@known.test", evidenceWith(), 86_400);
  world.keep(
    "gone@known.test",
    evidenceWith({ smtp: smtpWith({ class: "mailbox_not_found", code: 550 }) }),
    86_400,
  );
  world.keep("later@known.test", evidenceWith({ smtp: smtpWith({ class: "greylisted", code: 450 }) }), 600);
}

/** Sends one request on a connection of its own; returns the answer, or "closed" without one. */
async function ask(world: ReadyWorld, request: string): Promise<RawReply | "closed"> {
  const client = connect(world.port);
  client.send(request);
  try {
    return await client.reply(request.startsWith("HEAD"));
  } catch {
    return "closed";
  } finally {
    client.destroy();
  }
}

/** An answer as far as both servers have to agree on it. */
function comparable(reply: RawReply | "closed", request: string): unknown {
  if (reply === "closed") return reply;
  const { date: _date, "x-request-id": id = "", ...headers } = reply.headers;
  const own = /x-request-id: *(\S+)/i.exec(request)?.[1] ?? "";
  const shown = id === own ? id : id.replace(/^req_[0-9a-hjkmnp-tv-z]{26}$/, "made here");
  const body = id === "" ? reply.body : reply.body.replaceAll(id, "<id>");
  return { status: reply.status, headers, id: shown, names: Object.keys(reply.headers), body };
}

/** Unusual requests, and requests whose answers are not kept. */
const UNUSUAL: Record<string, string> = {
  "an address with more around it": get("email=%20Mixed.Case%40KNOWN.test%20", bearer(KEY)),
  "no credential": get("email=a%40known.test"),
  "a mistyped key": get("email=a%40known.test", bearer(`${KEY.slice(0, -1)}!`)),
  "an unknown key": get("email=a%40known.test", bearer(newSecret("live"))),
  "another scheme": get("email=a%40known.test", `Authorization: Basic ${KEY}`),
  "a scheme in small letters": get("email=a%40known.test", `Authorization: bearer  ${KEY} `),
  "two credentials": get("email=a%40known.test", bearer(KEY), bearer(OTHER)),
  "two, the first empty": get("email=a%40known.test", "Authorization:", bearer(KEY)),
  "a test key": get("email=a%40known.test", bearer(TEST)),
  "a session": get("email=a%40known.test", bearer(SESSION)),
  "a body's length": get("email=a%40known.test", bearer(KEY), "Content-Length: 0"),
  "two lengths": get("email=a%40known.test", bearer(KEY), "Content-Length: 0", "Content-Length: 0"),
  "two lengths, the first empty": get(
    "email=a%40known.test",
    bearer(KEY),
    "Content-Length:",
    "Content-Length: 5",
  ),
  "an empty length": get("email=a%40known.test", bearer(KEY), "Content-Length:"),
  "length and coding": get(
    "email=a%40known.test",
    bearer(KEY),
    "Content-Length: 3",
    "Transfer-Encoding: chunked",
  ),
  "an unknown coding": get("email=a%40known.test", bearer(KEY), "Transfer-Encoding: gzip"),
  "an empty coding": get("email=a%40known.test", bearer(KEY), "Transfer-Encoding:"),
  "two request ids": get("email=a%40known.test", bearer(KEY), "X-Request-Id: one", "X-Request-Id: two"),
  "two, the first empty id": get("email=a%40known.test", bearer(KEY), "X-Request-Id:", "X-Request-Id: two"),
  refresh: get("email=a%40known.test&refresh=true", bearer(KEY)),
  evidence: get("email=a%40known.test&evidence=true", bearer(KEY)),
  "an unknown parameter": get("email=a%40known.test&x=1", bearer(KEY)),
  "two addresses": get("email=a%40known.test&email=a%40known.test", bearer(KEY)),
  "no query": get("", bearer(KEY)),
  "an empty address": get("email=", bearer(KEY)),
  "no address at all": get("email=nobody", bearer(KEY)),
  "bad percent-encoding": get("email=a%4known.test", bearer(KEY)),
  "a long query": get(`email=a%40known.test&evidence=${"0".repeat(9_000)}`, bearer(KEY)),
  "what the cache does not know": get("email=new%40known.test", bearer(KEY)),
  "an answer that is free of charge": get("email=later%40known.test", bearer(KEY)),
  HEAD: PLAIN.replace("GET", "HEAD"),
  OPTIONS: PLAIN.replace("GET", "OPTIONS"),
  POST: PLAIN.replace("GET", "POST"),
  "a method in small letters": PLAIN.replace("GET", "get"),
  "another path": PLAIN.replace("/v1/verify", "/v1/verify/"),
  "a doubled slash": PLAIN.replace("/v1/verify", "//v1/verify"),
  "an encoded path": PLAIN.replace("/v1/verify", "/v1/%76erify"),
  "a path in capitals": PLAIN.replace("/v1/verify", "/v1/Verify"),
};

/** Requests that are answered from the kept answer, once the cache has answered one like them. */
const USUAL: Record<string, string> = {
  plain: PLAIN,
  "not encoded": get("email=a@known.test", bearer(KEY)),
  "a literal plus": get("email=a+tag@known.test", bearer(KEY)),
  "an encoded plus": get("email=a%2Btag%40known.test", bearer(KEY)),
  "another spelling": get("email=Mixed.Case%40KNOWN.test", bearer(KEY)),
  "flags that say no": get("refresh=false&email=b%40known.test&evidence=0", bearer(KEY)),
  "nobody's address": get("email=gone%40known.test", bearer(KEY)),
  "another team": get("email=a%40known.test", bearer(OTHER)),
  "a team that does not probe": get("email=a%40known.test", bearer(FREE)),
  "an id of the caller's": get("email=a%40known.test", bearer(KEY), "X-Request-Id: mine-1"),
  "an id that is none": get("email=a%40known.test", bearer(KEY), "X-Request-Id: <script>"),
  "an empty id": get("email=a%40known.test", bearer(KEY), "X-Request-Id:"),
  "other fields": get(
    "email=a%40known.test",
    "Accept: */*",
    "Origin: https://x.test",
    bearer(KEY),
    "Cookie: a=b",
  ),
  "one that closes": get("email=a%40known.test", bearer(KEY), "Connection: close"),
};

const DRAWN_EACH_TIME = [
  ...[
    "an address with more around it",
    "no credential",
    "an unknown key",
    "a test key",
    "refresh",
    "evidence",
  ],
  ...["what the cache does not know", "an answer that is free of charge", "no address at all"],
] as const;

const APP = "https://app.test";
const from = (...origins: string[]) =>
  get("email=a%40known.test", bearer(KEY), ...origins.map((origin) => `Origin: ${origin}`));

/** Requests of pages, whose answers have CORS fields if their origin is allowed. */
const OF_PAGES: Record<string, string> = {
  "of a page that may call": from(APP),
  "the same, with an id": from(APP).replace("\r\n\r\n", "\r\nX-Request-Id: mine-2\r\n\r\n"),
  "of one that may not": from("https://app.test.evil.test"),
  "of none": from("null"),
  "of an empty origin": from(""),
};
const OF_TWO_PAGES = { "of two pages": from(APP, "https://other.test") };

const WORLDS = [
  ["", [], { ...USUAL, ...OF_PAGES, ...OF_TWO_PAGES }, UNUSUAL],
  [
    " while pages of other origins may call",
    [APP, "https://other.test"],
    { ...USUAL, ...OF_PAGES },
    { ...UNUSUAL, ...OF_TWO_PAGES },
  ],
] as const;

/** Changes between two requests: after each, both servers must give the same answers. */
const CHANGES: Record<string, (world: ReadyWorld) => Promise<void> | void> = {
  "time passes": (world) => world.clock.advanceAsync(1_500),
  "the domain is blocked": (world) => {
    world.listsOf("team_1").blocked.set("known.test", false);
    world.announce({ kind: "team", subject: "team_1", domains: ["known.test"] });
  },
  "it is disposable to the team": (world) => {
    world.listsOf("team_1").disposable.add("known.test");
    world.note({ kind: "team", subject: "team_1", domains: ["known.test"] });
    return world.clock.advanceAsync(1_000);
  },
  "it is nothing any more": (world) => {
    world.set(KEY, {}, { id: "team_1", limits: LIMITED });
    world.announce({ kind: "team", subject: "team_1" });
  },
  "the operator calls it disposable": (world) => void world.promoted.add("known.test"),
  "he does no more": (world) => void world.promoted.delete("known.test"),
  "the tier no longer probes": (world) => {
    world.set(KEY, {}, { id: "team_1", tier: "starter", limits: LIMITED });
    world.announce({ kind: "team", subject: "team_1" });
  },
  "the limits are others": (world) => {
    world.set(KEY, {}, { id: "team_1", limits: { ...LIMITED, ratePerS: 7, rateBurst: 2_000 } });
    world.announce({ kind: "team", subject: "team_1" });
  },
  "there is other evidence": (world) =>
    world.keep("a@known.test", evidenceWith({ smtp: smtpWith({ catchAll: "accepted" }) }), 5),
  "that has expired": (world) => world.clock.advanceAsync(5_000),
  "the day is another": (world) => world.clock.advanceAsync(20_000),
  "there is evidence again": (world) => world.keep("a@known.test", ACCEPTED, 86_400),
  "the key is revoked": (world) => {
    world.remove(KEY);
    world.note({ kind: "credential", subject: "" });
    return world.clock.advanceAsync(1_000);
  },
};

const MANY = 40;

for (const [when, corsOrigins, usual, unusual] of WORLDS)
  describe(`answers that are kept as they are sent${when}`, () => {
    let keeping: ReadyWorld;
    let drawing: ReadyWorld;
    before(async () => {
      [keeping, drawing] = [
        await startReadyWorld(true, { corsOrigins }),
        await startReadyWorld(false, { corsOrigins }),
      ];
      setUp(keeping);
      setUp(drawing);
    });
    after(async () => {
      await Promise.all([keeping.close(), drawing.close()]);
    });

    async function compare(what: string, request: string): Promise<void> {
      const [one, other] = [await ask(keeping, request), await ask(drawing, request)];
      assert.deepEqual(comparable(one, request), comparable(other, request), what);
    }

    async function compareAll(state: string): Promise<void> {
      for (const [what, request] of Object.entries({ ...usual, ...unusual }))
        await compare(`${state}: ${what}`, request);
    }

    async function hits(request: string): Promise<number> {
      const before = keeping.cacheHits.count;
      await compare("counted", request);
      return keeping.cacheHits.count - before;
    }

    it("are sent for usual requests, and for no other request", async () => {
      // Leases of tokens and units grow with the traffic: until then requests wait for them.
      for (let i = 0; i < MANY; i++)
        for (const key of [KEY, OTHER, FREE]) await compare("more", get("email=a%40known.test", bearer(key)));
      for (const request of Object.values(usual)) await compare("first", request);
      for (const [what, request] of Object.entries(usual)) assert.equal(await hits(request), 1, what);
      for (const what of DRAWN_EACH_TIME) assert.equal(await hits(UNUSUAL[what] ?? ""), 0, what);
    });

    it("tells pages what browsers and caches need to know, if they may call", async () => {
      const answerTo = async (request: string) => {
        const [reply] = [await ask(keeping, request), await ask(drawing, request)];
        assert.ok(reply !== "closed" && reply.status === 200);
        return [reply.headers.vary, reply.headers["access-control-allow-origin"]];
      };
      const mayCall = corsOrigins.length > 0;
      assert.deepEqual(await answerTo(from(APP)), mayCall ? ["Origin", APP] : [undefined, undefined]);
      assert.deepEqual(await answerTo(PLAIN), [mayCall ? "Origin" : undefined, undefined]);
    });

    it("say and count what is rendered anew each time, whatever changes in between", async () => {
      await compareAll("at first");
      await compareAll("again");
      for (const [state, change] of Object.entries(CHANGES)) {
        await change(keeping);
        await change(drawing);
        await compareAll(state);
        await compareAll(`${state}, again`);
      }
      assert.deepEqual(await keeping.accounts(), await drawing.accounts());
    });
  });

describe("what is kept", () => {
  it("are answers of live keys, not of test keys, whose requests cost nothing", async (t) => {
    const world = await startReadyWorld(true);
    t.after(() => world.close());
    setUp(world);
    for (let i = 0; i < MANY; i++) await ask(world, get("email=a%40known.test", bearer(KEY)));
    const hitsOf = async (request: string) => {
      const before = world.cacheHits.count;
      const reply = await ask(world, request);
      assert.ok(reply !== "closed" && reply.status === 200);
      return world.cacheHits.count - before;
    };
    const asked = (key: string) => get("email=b%40known.test", bearer(key));
    for (let i = 0; i < MANY; i++) assert.equal(await hitsOf(asked(TEST)), 0);
    assert.equal(await hitsOf(asked(KEY)), 0);
    assert.equal(await hitsOf(asked(KEY)), 1);
  });

  it("stays within its bound, and is the answer about the address that was asked", async (t) => {
    const world = await startReadyWorld(true, { cachedAnswers: 2 });
    t.after(() => world.close());
    setUp(world);
    const people = ["a", "b", "a+tag", "Mixed.Case"].map((who) => `${who}@known.test`);
    for (let i = 0; i < 3; i++)
      for (const email of people) {
        const reply = await ask(world, get(`email=${encodeURIComponent(email)}`, bearer(KEY)));
        assert.ok(reply !== "closed" && reply.status === 200);
        assert.equal(JSON.parse(reply.body).email, email);
      }
    assert.equal(world.cacheHits.count, 0, "each was forgotten before it was asked for again");
  });
});

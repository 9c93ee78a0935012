import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../../src/services/api-key.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { connect, type RawReply } from "../../support/raw-http.ts";
import { type ReadyWorld, startReadyWorld } from "../../support/ready-world.ts";

const KEY = newSecret("live");
const FREE = newSecret("live");
const TEST = newSecret("test");
const SLOW = newSecret("live");
const WIDE = { dailyQuota: 1_000_000, ratePerS: 5_000, rateBurst: 10_000 };
const NARROW = { dailyQuota: 1_000_000, ratePerS: 2, rateBurst: 2 };

const get = (query: string, ...fields: string[]) =>
  `GET /v1/verify?${query} HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`;
const bearer = (key: string) => `Authorization: Bearer ${key}`;

/** Asked for one after another on a crowded server: of those marked true only the short way is to know. */
const CROWDED: Record<string, [request: string, isShort: boolean, status: number]> = {
  plain: [get("email=a%40new.test", bearer(KEY)), true, 503],
  "with an id": [get("email=a%40new.test", bearer(KEY), "X-Request-Id: mine-1"), true, 503],
  "with an id that is none": [get("email=a%40new.test", bearer(KEY), "X-Request-Id: <b>"), true, 503],
  "by one that closes": [get("email=a%40new.test", bearer(KEY), "Connection: close"), true, 503],
  "with evidence": [get("email=a%40new.test&evidence=true", bearer(KEY)), true, 503],
  "of what memory has, anew": [get("email=a%40known.test&refresh=true", bearer(KEY)), true, 503],
  "of what memory has": [get("email=a%40known.test", bearer(KEY)), false, 200],
  "of what memory has, with evidence": [get("email=a%40known.test&evidence=true", bearer(KEY)), false, 200],
  "of what is none": [get("email=nobody", bearer(KEY)), false, 200],
  "anew by a team that may not": [get("email=a%40new.test&refresh=true", bearer(FREE)), false, 402],
  "by a test key": [get("email=valid%40rcpt.test", bearer(TEST)), false, 200],
  "by nobody": [get("email=a%40new.test"), false, 401],
  "by an unknown key": [get("email=a%40new.test", bearer(newSecret("live"))), false, 401],
  "by two": [get("email=a%40new.test", bearer(KEY), bearer(FREE)), false, 503],
  "with a body's length": [get("email=a%40new.test", bearer(KEY), "Content-Length: 0"), false, 503],
  "that is not well said": [get("email=a%40new.test&x=1", bearer(KEY)), false, 400],
  "badly encoded": [get("email=a%4new.test", bearer(KEY)), false, 400],
  "of another method": [get("email=a%40new.test", bearer(KEY)).replace("GET", "POST"), false, 405],
};

const APP = "https://app.test";
/** Of pages: the short way knows them, too, and tells them what browsers and caches need, where they may call. */
const OF_PAGES: typeof CROWDED = {
  "of a page that may call": [get("email=a%40new.test", bearer(KEY), `Origin: ${APP}`), true, 503],
  "the same, with an id": [
    get("email=a%40new.test", bearer(KEY), `Origin: ${APP}`, "X-Request-Id: mine-2"),
    true,
    503,
  ],
  "of one that may not": [get("email=a%40new.test", bearer(KEY), "Origin: https://evil.test"), true, 503],
};

async function ask(world: ReadyWorld, request: string): Promise<RawReply> {
  const client = connect(world.port);
  client.send(request);
  try {
    return await client.reply(false);
  } finally {
    client.destroy();
  }
}

/** An answer as far as both ways have to agree on it. */
function comparable(reply: RawReply, request: string): unknown {
  const { date: _date, "x-request-id": id = "", ratelimit = "", ...headers } = reply.headers;
  const own = /x-request-id: *(\S+)/i.exec(request)?.[1] ?? "";
  const shown = id === own ? id : id.replace(/^req_[0-9a-hjkmnp-tv-z]{26}$/, "made here");
  const body = id === "" ? reply.body : reply.body.replaceAll(id, "<id>");
  // Where there was no room the general way had taken a token before it refused, the short one had not.
  const limit = reply.status !== 429 ? ratelimit.replace(/^"rate";r=\d+/, "") : ratelimit;
  return { status: reply.status, headers, limit, id: shown, names: Object.keys(reply.headers), body };
}

for (const [when, corsOrigins] of [
  ["", []],
  [" while pages of other origins may call", [APP]],
] as const)
  describe(`the short way to a refusal${when}`, () => {
    let short: ReadyWorld;
    let long: ReadyWorld;
    before(async () => {
      [short, long] = [
        await startReadyWorld(true, { corsOrigins }),
        await startReadyWorld(false, { corsOrigins }),
      ];
      for (const world of [short, long]) {
        world.set(KEY, {}, { id: "team_1", limits: WIDE });
        world.set(FREE, {}, { id: "team_2", tier: "free", limits: WIDE });
        world.set(TEST, { kind: "test" }, { id: "team_1" });
        world.set(SLOW, {}, { id: "team_3", limits: NARROW });
        world.keep("a@known.test", evidenceWith({ smtp: smtpWith() }), 86_400);
        // Who asks is known from here on.
        for (const key of [KEY, FREE, TEST])
          assert.equal((await ask(world, get("email=nobody", bearer(key)))).status, 200);
      }
    });
    after(async () => {
      await Promise.all([short.close(), long.close()]);
    });

    /** @returns how many of the two requests came to the general way of the server that has both: 0 or 1 */
    async function compare(what: string, request: string, status: number): Promise<number> {
      const generally = short.general.count;
      const [one, other] = [await ask(short, request), await ask(long, request)];
      assert.equal(one.status, status, what);
      assert.deepEqual(comparable(one, request), comparable(other, request), what);
      return short.general.count - generally;
    }

    it("says what the general way does where there is no room, and leaves to it whatever else there is", async () => {
      const ends = [short.crowd(), long.crowd()];
      for (const [what, [request, isShort, status]] of Object.entries({ ...CROWDED, ...OF_PAGES })) {
        const generally = await compare(what, request, status);
        if (isShort) assert.equal(generally, 0, what);
        else if (status !== 405) assert.equal(generally, 1, what);
      }
      for (const end of ends) end();
      for (const [what, [request, isShort]] of Object.entries({ ...CROWDED, ...OF_PAGES }))
        if (isShort) assert.equal(await compare(`${what}, with room again`, request, 200), 1);
    });

    it("tells a team that has used up its rate so, also where there is no room either", async () => {
      const request = get("email=nobody", bearer(SLOW));
      const asked = [await compare("1", request, 200), await compare("2", request, 200)];
      // Here it is seen that there is none left.
      asked.push(await compare("3", request, 429));
      assert.deepEqual(asked, [1, 1, 1]);
      assert.equal(await compare("again", request, 429), 0);
      assert.equal(await compare("badly asked", get("email=a&x=1", bearer(SLOW)), 429), 0);
      assert.equal(await compare("with an id", get("email=a", bearer(SLOW), "X-Request-Id: m"), 429), 0);
      const ofPage = get("email=nobody", bearer(SLOW), `Origin: ${APP}`);
      assert.equal(await compare("of a page", ofPage, 429), 0);
      const { headers } = await ask(short, ofPage);
      assert.equal(headers["access-control-allow-origin"], corsOrigins.length > 0 ? APP : undefined);
      await ask(long, ofPage);
      assert.equal(await compare("another team", get("email=nobody", bearer(KEY)), 200), 1);
      const ends = [short.crowd(), long.crowd()];
      assert.equal(await compare("crowded", get("email=a%40new.test", bearer(SLOW)), 429), 0);
      for (const end of ends) end();
    });

    it("counts what the general way counts, and charges nothing", async () => {
      const [one, other] = [await short.accounts(), await long.accounts()];
      assert.deepEqual(one.lines, other.lines);
      assert.deepEqual([one.units, one.usage], [other.units, other.usage]);
    });
  });

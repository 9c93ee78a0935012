import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { connect, type RawReply } from "../../support/raw-http.ts";
import { type ReadyWorld, startReadyWorld } from "../../support/ready-world.ts";

const KEY = newSecret("live");
const FREE = newSecret("live");
const TEST = newSecret("test");
const SLOW = newSecret("live");
const WIDE = { dailyQuota: 1_000_000, ratePerS: 5_000, rateBurst: 10_000 };
const NARROW = { dailyQuota: 1_000_000, ratePerS: 2, rateBurst: 2 };

const APP = "https://app.test";

const get = (query: string, ...fields: string[]) =>
  `GET /v1/verify?${query} HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`;
const bearer = (key: string) => `Authorization: Bearer ${key}`;

/** Asked for one after another on a server without room for checks. */
const CROWDED: Record<string, [request: string, status: number]> = {
  plain: [get("email=a%40new.test", bearer(KEY)), 503],
  "with an id": [get("email=a%40new.test", bearer(KEY), "X-Request-Id: mine-1"), 503],
  "with an id that is none": [get("email=a%40new.test", bearer(KEY), "X-Request-Id: <b>"), 503],
  "by one that closes": [get("email=a%40new.test", bearer(KEY), "Connection: close"), 503],
  "with evidence": [get("email=a%40new.test&evidence=true", bearer(KEY)), 503],
  "of what memory has, anew": [get("email=a%40known.test&refresh=true", bearer(KEY)), 503],
  "of what memory has": [get("email=a%40known.test", bearer(KEY)), 200],
  "of what memory has, with evidence": [get("email=a%40known.test&evidence=true", bearer(KEY)), 200],
  "of what is none": [get("email=nobody", bearer(KEY)), 200],
  "anew by a team that may not": [get("email=a%40new.test&refresh=true", bearer(FREE)), 402],
  "by a test key": [get("email=valid%40rcpt.test", bearer(TEST)), 200],
  "by nobody": [get("email=a%40new.test"), 401],
  "by an unknown key": [get("email=a%40new.test", bearer(newSecret("live"))), 401],
  "by two": [get("email=a%40new.test", bearer(KEY), bearer(FREE)), 503],
  "with a body's length": [get("email=a%40new.test", bearer(KEY), "Content-Length: 0"), 503],
  "that is not well said": [get("email=a%40new.test&x=1", bearer(KEY)), 400],
  "badly encoded": [get("email=a%4new.test", bearer(KEY)), 400],
  "of another method": [get("email=a%40new.test", bearer(KEY)).replace("GET", "POST"), 405],
  "of a page": [get("email=a%40new.test", bearer(KEY), `Origin: ${APP}`), 503],
  "of a page, with an id": [
    get("email=a%40new.test", bearer(KEY), `Origin: ${APP}`, "X-Request-Id: mine-2"),
    503,
  ],
  "of a page that may not call": [get("email=a%40new.test", bearer(KEY), "Origin: https://evil.test"), 503],
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

for (const [when, corsOrigins] of [
  ["", []],
  [" while pages of other origins may call", [APP]],
] as const)
  describe(`a refusal before what is asked is read${when}`, () => {
    let world: ReadyWorld;
    before(async () => {
      world = await startReadyWorld(true, { corsOrigins });
      world.set(KEY, {}, { id: "team_1", limits: WIDE });
      world.set(FREE, {}, { id: "team_2", tier: "free", limits: WIDE });
      world.set(TEST, { kind: "test" }, { id: "team_1" });
      world.set(SLOW, {}, { id: "team_3", limits: NARROW });
      world.keep("a@known.test", evidenceWith({ smtp: smtpWith() }), 86_400);
      // From here on the credentials are cached.
      for (const key of [KEY, FREE, TEST])
        assert.equal((await ask(world, get("email=nobody", bearer(key)))).status, 200);
    });
    after(() => world.close());

    /** Sends it, and looks at what every refusal has to say. */
    async function requireStatus(what: string, request: string, status: number): Promise<RawReply> {
      const reply = await ask(world, request);
      assert.equal(reply.status, status, what);
      const { headers } = reply;
      const own = /x-request-id: (mine-\d)/i.exec(request)?.[1];
      if (own !== undefined) assert.equal(headers["x-request-id"], own, what);
      else assert.match(headers["x-request-id"] ?? "", /^req_[0-9a-hjkmnp-tv-z]{26}$/, what);
      const mayCall = corsOrigins.length > 0 && request.includes(`Origin: ${APP}`);
      assert.equal(headers["access-control-allow-origin"], mayCall ? APP : undefined, what);
      assert.equal(headers.vary, corsOrigins.length > 0 ? "Origin" : undefined, what);
      if (status !== 503 && status !== 429) return reply;
      const { code, request_id: id } = JSON.parse(reply.body);
      assert.equal(code, status === 503 ? "overloaded" : "rate_limited", what);
      assert.equal(id, headers["x-request-id"], what);
      assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/, what);
      assert.match(headers["ratelimit-policy"] ?? "", /^"rate";q=\d+;w=\d+, "quota";q=\d+;w=86400$/, what);
      assert.match(headers.ratelimit ?? "", /^"rate";r=\d+;t=\d+, "quota";r=\d+;t=\d+$/, what);
      return reply;
    }

    it("is sent where there is no slot for a check, and only to requests that need one", async () => {
      const end = world.crowd();
      for (const [what, [request, status]] of Object.entries(CROWDED))
        await requireStatus(what, request, status);
      end();
      for (const [what, [request, status]] of Object.entries(CROWDED))
        if (status === 503) await requireStatus(`${what}, with room again`, request, 200);
    });

    it("says that a team's rate is used up, also where there is no slot either", async () => {
      const request = get("email=nobody", bearer(SLOW));
      await requireStatus("1", request, 200);
      await requireStatus("2", request, 200);
      // This answer shows that no token is left.
      const { headers } = await requireStatus("3", request, 429);
      assert.match(headers.ratelimit ?? "", /^"rate";r=0;/);
      await requireStatus("again", request, 429);
      await requireStatus("badly asked", get("email=a&x=1", bearer(SLOW)), 429);
      await requireStatus("with an id", get("email=a", bearer(SLOW), "X-Request-Id: mine-3"), 429);
      await requireStatus("of a page", get("email=nobody", bearer(SLOW), `Origin: ${APP}`), 429);
      await requireStatus("another team", get("email=nobody", bearer(KEY)), 200);
      const end = world.crowd();
      await requireStatus("crowded", get("email=a%40new.test", bearer(SLOW)), 429);
      end();
    });

    it("charges nothing, and is counted", async () => {
      const { lines, units } = await world.accounts();
      const spent = (team: string) =>
        units.filter(({ teamId }) => teamId === team).reduce((sum, unit) => sum + unit.spent, 0);
      assert.equal(spent("team_3"), 2, "what was answered, not what was refused");
      const countOf = (start: string) =>
        Number(
          lines
            .find((line) => line.startsWith(start))
            ?.split(" ")
            .at(-1),
        );
      const refused = Object.values(CROWDED).filter(([, status]) => status === 503).length;
      assert.equal(
        countOf('rcpt_http_requests_total{route="/v1/verify",method="GET",status="503"}'),
        refused,
      );
      assert.equal(countOf('rcpt_http_requests_total{route="/v1/verify",method="GET",status="429"}'), 6);
      assert.equal(countOf("rcpt_admission_refused_total"), refused);
    });
  });

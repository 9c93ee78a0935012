import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { RequestGate } from "../../../../src/api/server/dispatch.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { echoRoute, type Harness, openGate, postJson, startServer } from "../harness.ts";

const BODY_BYTES = 65_536;
const JSON_BODY = Buffer.from('{"label":"x"}');
const PACKED = gzipSync(JSON_BODY);
const GZIP = "Content-Encoding: gzip";
const KEY = "Idempotency-Key: once";

/** A route that honours keys, and what bodies it was asked with. */
function rememberingGate(seen: Buffer[]): RequestGate {
  const gate = openGate();
  return {
    ...gate,
    idempotency: {
      ...gate.idempotency,
      begin(attempt) {
        seen.push(Buffer.from(attempt.body));
        return gate.idempotency.begin(attempt);
      },
    },
  };
}

describe("JSON bodies with a content coding", () => {
  const seen: Buffer[] = [];
  let server: Harness;
  before(async () => {
    server = await startServer({
      gate: rememberingGate(seen),
      extraRoutes: [{ ...echoRoute(), idempotent: true }],
      limits: {
        bodyBytes: BODY_BYTES,
        bodies: { ...LIMITS.http.bodies, teams: { bytes: 8 * BODY_BYTES, share: 1 } },
      },
    });
  });
  after(() => server.close());
  const post = (body: Buffer, ...fields: string[]) => postJson(server.port, "/v1/echo", body, ...fields);

  for (const field of [GZIP, "Content-Encoding: x-gzip", "content-encoding:  GZIP "])
    it(`inflates with ${field}`, async () => {
      assert.equal((await post(PACKED, field)).body, '{"label":"x"}');
    });

  it("takes several members, and no coding", async () => {
    const members = Buffer.concat([gzipSync(JSON_BODY.subarray(0, 5)), gzipSync(JSON_BODY.subarray(5))]);
    assert.equal((await post(members, GZIP)).status, 201);
    assert.equal((await post(JSON_BODY, "Content-Encoding: identity")).status, 201);
  });

  it("compares the inflated bodies of one Idempotency-Key", async () => {
    seen.length = 0;
    await post(PACKED, GZIP, KEY);
    await post(gzipSync(JSON_BODY, { level: 0 }), GZIP, KEY);
    assert.deepEqual(seen, [JSON_BODY, JSON_BODY]);
  });

  const changed = Buffer.from(PACKED);
  changed[PACKED.length - 6] = (changed[PACKED.length - 6] ?? 0) ^ 1;
  const refused: [string, Buffer, string, number, string][] = [
    ["plain JSON", JSON_BODY, GZIP, 400, "bad_request"],
    ["nothing", Buffer.alloc(0), GZIP, 400, "bad_request"],
    ["half of the data", PACKED.subarray(0, 20), GZIP, 400, "bad_request"],
    ["changed data", changed, GZIP, 400, "bad_request"],
    ["more behind the data", Buffer.concat([PACKED, Buffer.from("more")]), GZIP, 400, "bad_request"],
    [
      "zeros and more behind the data",
      Buffer.concat([PACKED, Buffer.from("\0more")]),
      GZIP,
      400,
      "bad_request",
    ],
    ["gzip that holds no JSON", gzipSync("nonsense"), GZIP, 400, "malformed_json"],
    ["gzip of too many values", gzipSync(`[${"0,".repeat(2_000)}0]`), GZIP, 400, "malformed_json"],
    ["gzip of nothing", gzipSync(""), GZIP, 400, "malformed_json"],
    ["a bomb", gzipSync(Buffer.alloc(64 * BODY_BYTES, " ")), GZIP, 413, "body_too_large"],
    ["deflate", deflateSync(JSON_BODY), "Content-Encoding: deflate", 415, "unsupported_media_type"],
    ["brotli", brotliCompressSync(JSON_BODY), "Content-Encoding: br", 415, "unsupported_media_type"],
    ["two codings", gzipSync(PACKED), "Content-Encoding: gzip, gzip", 415, "unsupported_media_type"],
  ];
  for (const [what, body, field, status, code] of refused)
    for (const keyed of [[], [KEY]])
      it(`refuses ${what}${keyed.length > 0 ? " with a key" : ""}`, async () => {
        const reply = await post(body, field, ...keyed);
        assert.deepEqual([reply.status, reply.json().code], [status, code]);
        if (status === 415) assert.equal(reply.headers["accept-encoding"], "gzip, identity");
      });

  it("gives back what bombs took of the budget of all bodies", async () => {
    const bomb = gzipSync(Buffer.alloc(4 * BODY_BYTES, " "));
    for (let i = 0; i < 50; i++) assert.equal((await post(bomb, GZIP)).status, 413);
    const large = gzipSync(`{"label":"x","nested":"${"y".repeat(BODY_BYTES - 1_000)}"}`);
    assert.equal((await post(large, GZIP)).status, 201);
  });
});

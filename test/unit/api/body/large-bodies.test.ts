import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LARGE_BODIES, parseLargeBody } from "../../../../src/api/body/large-bodies.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { routes } from "../../../support/route-table.ts";

const { parsedHereBytes } = LIMITS.http.bodies;
const isLarge = (bodyBytes: number = LIMITS.http.bodyBytes) => bodyBytes > parsedHereBytes;
const codeOf = (body: string) => (error: unknown) => error instanceof AppError && error.code === body;

describe("large bodies", () => {
  it("are parsed off the event loop, by the schema of their route", () => {
    const large = routes.filter(({ body, bodyBytes }) => body !== undefined && isLarge(bodyBytes));
    assert.deepEqual(
      large.map(({ operationId, body }) => [operationId, body]),
      Object.entries(LARGE_BODIES),
    );
    for (const { parseLarge, path } of large) assert.ok(parseLarge !== undefined, path);
  });

  it("have bounds that let pass what their schemas let pass", () => {
    const { inlineRows, bodyValues } = LIMITS.bulk;
    assert.ok(bodyValues > inlineRows + 2 * LIMITS.bulk.metadataPairs);
    assert.ok(LIMITS.overrides.bodyValues > LIMITS.overrides.domainsPerRequest + 2);
  });

  it("become what the schema makes of them", () => {
    const { emails, evidence } = parseLargeBody("submitBulk", Buffer.from('{"emails":["a@b.test"]}'));
    assert.deepEqual([emails, evidence], [["a@b.test"], false]);
  });

  it("are refused as others are", () => {
    const parse = (text: string) => () => parseLargeBody("submitDisposable", Buffer.from(text));
    assert.throws(parse('{"domains":['), codeOf("malformed_json"));
    assert.throws(parse('{"domains":[1]}'), codeOf("validation_failed"));
    assert.throws(
      () => parseLargeBody("submitBulk", Buffer.from('{"emails":["\xff"]}', "latin1")),
      codeOf("malformed_json"),
    );
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { S3ServiceException } from "@aws-sdk/client-s3";
import { isObjectsOutage } from "../../../src/stores/objects/objects.ts";
import { isOutage } from "../../../src/stores/postgres/postgres.ts";

const coded = (code: string) => Object.assign(new Error("x"), { code });

describe("an outage of Postgres", () => {
  for (const code of [
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "EAI_AGAIN",
    "CONNECTION_CLOSED",
    "CONNECT_TIMEOUT",
    "08006",
    "57P01",
    "57014",
    "25006",
    "53300",
    "40P01",
  ])
    it(`is ${code}`, () => assert.equal(isOutage(coded(code)), true));
  for (const error of [
    coded("23505"),
    coded("42601"),
    coded("ERR_INVALID_ARG_TYPE"),
    coded("SELF_SIGNED_CERT_IN_CHAIN"),
    new Error("x"),
    "x",
    null,
  ])
    it(`is not ${error instanceof Error ? ((error as { code?: string }).code ?? "an error") : String(error)}`, () =>
      assert.equal(isOutage(error), false));
});

describe("an outage of the object storage", () => {
  const answered = (httpStatusCode: number, fault: "client" | "server") =>
    new S3ServiceException({ name: "X", $fault: fault, $metadata: { httpStatusCode } });
  it("is a connection that cannot be had, silence, and an answer that says so", () => {
    const silent = Object.assign(new Error("x"), { name: "TimeoutError" });
    for (const error of [coded("ECONNREFUSED"), silent, answered(503, "server"), answered(429, "client")])
      assert.equal(isObjectsOutage(error), true);
  });
  it("is no refusal, and no fault of ours", () => {
    for (const error of [
      answered(403, "client"),
      answered(404, "client"),
      coded("ERR_INVALID_URL"),
      new Error("x"),
    ])
      assert.equal(isObjectsOutage(error), false);
  });
});

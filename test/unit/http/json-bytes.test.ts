import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonBytes } from "../../../src/http/json-bytes.ts";

describe("JSON that is kept as bytes", () => {
  it("is UTF-8, in memory that nothing else shares", () => {
    const value = { email: "zoë@example.com" };
    const bytes = jsonBytes(value);
    assert.deepEqual(JSON.parse(new TextDecoder().decode(bytes)), value);
    assert.equal(bytes.buffer.byteLength, bytes.byteLength);
  });
});

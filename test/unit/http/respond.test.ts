import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HttpReply } from "../../../src/http/reply.ts";
import { writeHead } from "../../../src/http/respond.ts";

const POLICIES = ['"rate";q=1;w=2', '"rate";q=50;w=1, "quota";q=9;w=86400', "odd\r\nInjected: yes"];
const TYPES = ["application/json", "application/problem+json", "text/html; charset=utf-8"] as const;

function headOf(reply: HttpReply, policy: string, cors: string): string[] {
  const written: string[] = [];
  const writer = {
    writeStatus: (status: string) => written.push(status),
    writeHeader: (name: string, value: string | Uint8Array) => written.push(`${name}: ${value}`),
  };
  const rate = { policy, limit: '"rate";r=1;t=1' };
  writeHead(writer, reply, {
    requestId: "req_1",
    rate,
    cors,
    headOnly: false,
    close: false,
    mustClose: false,
  });
  return written;
}

describe("the head of an answer", () => {
  it("is the same whether it is put together from what its policy has or field by field", () => {
    for (const round of [1, 2])
      for (const policy of POLICIES)
        for (const contentType of TYPES)
          for (const cors of ["", "\r\nVary: Origin"])
            for (const status of [200, 404]) {
              const usual = headOf(new HttpReply(status, "{}", { contentType }), policy, cors);
              // Fields of its own, of which there are none, are looked at one by one.
              const atLength = headOf(
                new HttpReply(status, "{}", { contentType, headers: {} }),
                policy,
                cors,
              );
              assert.deepEqual(usual, atLength, `${round} ${policy} ${contentType}`);
              assert.ok(!usual.join().includes("\r\nInjected"));
            }
  });
});

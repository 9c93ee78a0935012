import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf } from "../../../../scripts/mta/names.ts";

test("the one address we come from is listed, with a reason", () => {
  assert.deepEqual(answerOf("1.0.0.127.DNSBL.test", "A"), [
    { name: "1.0.0.127.DNSBL.test", type: "A", ttl: 60, data: "127.0.0.2" },
  ]);
  assert.match(
    String(answerOf("1.0.0.127.dnsbl.test", "TXT")?.map((record) => JSON.stringify(record))),
    /Listed/,
  );
  assert.deepEqual(answerOf("1.0.0.127.dnsbl.test", "AAAA"), []);
});

for (const name of ["2.0.0.127.dnsbl.test", "rcpt.test", "1.0.0.127.in-addr.arpa"])
  test(`no host is called ${name}`, () => {
    assert.equal(answerOf(name, "A"), null);
  });

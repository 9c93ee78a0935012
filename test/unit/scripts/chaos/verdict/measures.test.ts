import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { growthOf } from "../../../../../scripts/chaos/deployment/resources.ts";
import { isSigned } from "../../../../../scripts/chaos/traffic/hooks.ts";
import { none, noted, passes, renderClosing, within } from "../../../../../scripts/chaos/verdict/closing.ts";
import { resultRows } from "../../../../../scripts/chaos/verdict/results.ts";

const before = { rssMb: 100, descriptors: 40, threads: 12 };

test("a process may have a little more than before; what is beyond that is named", () => {
  assert.deepEqual(growthOf("api-0", before, { rssMb: 195, descriptors: 64, threads: 15 }), []);
  assert.deepEqual(growthOf("api-0", before, { rssMb: 196, descriptors: 65, threads: 16 }), [
    "api-0: rssMb 100 -> 196, at most 195",
    "api-0: descriptors 40 -> 65, at most 64",
    "api-0: threads 12 -> 16, at most 15",
  ]);
});

test("the closing table passes when every bound holds, and says how to repeat it", () => {
  const good = [noted("requests", 10), none("rows lost", 0), within("settled", "3 s", "within 150 s", true)];
  assert.equal(passes(good), true);
  assert.match(
    renderClosing({ seed: 5, again: "npm run chaos -- --seed 5", findings: good, details: [] }),
    /Every bound holds.*--seed 5$/,
  );
  const bad = [...good, none("duplicates", 2)];
  assert.equal(passes(bad), false);
  const text = renderClosing({ seed: 5, again: "", findings: bad, details: ["row 3 twice"] });
  assert.match(text, /duplicates +2 +MISSED bound: 0/);
  assert.match(text, /! row 3 twice/);
});

test("rows are read from results by the names of their columns", () => {
  const csv = 'id,email,rcpt_verdict,rcpt_reason\r\n1,"a ""b""@x.test",valid,accepted_mailbox\r\n';
  assert.deepEqual(resultRows(csv), [
    { email: 'a "b"@x.test', verdict: "valid", reason: "accepted_mailbox" },
  ]);
});

test("a delivery counts as signed by its own secret over its own bytes only", () => {
  const key = Buffer.from("0123456789abcdef0123456789abcdef");
  const secret = `whsec_${key.toString("base64")}`;
  const body = '{"type":"bulk.completed"}';
  const signature = createHmac("sha256", key).update(`evt_1.1700000000.${body}`).digest("base64");
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": "1700000000",
    "webhook-signature": `v1,AAAA v1,${signature}`,
  };
  assert.equal(isSigned({ headers, body }, secret), true);
  assert.equal(isSigned({ headers, body: `${body} ` }, secret), false);
  assert.equal(isSigned({ headers: { ...headers, "webhook-id": "evt_2" }, body }, secret), false);
});

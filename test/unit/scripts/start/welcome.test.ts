import assert from "node:assert/strict";
import { test } from "node:test";
import { welcome } from "../../../../scripts/start/welcome.ts";

const facts = {
  running: { url: "http://127.0.0.1:8080", metricsPort: 9_090 },
  keys: { live_key: "rcpt_live_a", test_key: "rcpt_test_b" },
  home: "/home/me/rcpt/.rcpt",
};

test("the welcome has the URL, the keys, and every folder that data is in", () => {
  const inside = welcome({ ...facts, postgresFolder: "/home/me/rcpt/.rcpt/data/postgres" });
  for (const part of ["http://127.0.0.1:8080", "9090", "rcpt_live_a", "rcpt_test_b"])
    assert.ok(inside.includes(part), part);
  assert.match(inside, /stays in \/home\/me\/rcpt\/\.rcpt\.\n/);
  assert.equal(welcome({ ...facts, postgresFolder: null }), inside);
  const outside = welcome({ ...facts, postgresFolder: "/var/tmp/rcpt-x" });
  assert.match(outside, /stays in \/home\/me\/rcpt\/\.rcpt, PostgreSQL's in \/var\/tmp\/rcpt-x\.\n/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { requireBackends } from "../../../scripts/balancers/balancer.ts";
import { haproxyConfiguration, serversUp } from "../../../scripts/balancers/haproxy.ts";
import { nginxConfiguration } from "../../../scripts/balancers/nginx.ts";

const backends = [
  { name: "a", host: "127.0.0.1", port: 4001 },
  { name: "b", host: "127.0.0.1", port: 4002 },
  { name: "c", host: "127.0.0.1", port: 4003 },
];

test("HAProxy asks each backend's readiness and tries nothing twice", () => {
  const lines = haproxyConfiguration(backends, { clients: 8000, stats: 8001 }).split("\n");
  for (const wanted of [
    "  retries 0",
    "  no option redispatch",
    "  bind 127.0.0.1:8000",
    "  server b 127.0.0.1:4002",
  ])
    assert.ok(lines.includes(wanted), wanted);
  assert.ok(lines.some((line) => line.includes("uri /readyz")));
});

test("of HAProxy's statistics those servers count that answered a check", () => {
  const csv = [
    "# pxname,svname,status,check_status,x",
    "clients,FRONTEND,OPEN,,",
    "api,a,UP,L7OK,",
    "api,b,UP,INI,",
    "api,c,DOWN,L7STS,",
    "api,d,UP,* L7OK,",
    "api,BACKEND,UP,,",
    "",
  ].join("\n");
  assert.deepEqual(serversUp(csv), ["a", "d"]);
});

test("nginx has a group for each choice of ready backends, by which files are there", () => {
  const text = nginxConfiguration("/tmp/x y", 8000, backends);
  const groups = [...text.matchAll(/upstream (\S+) \{([^}]*)\}/g)];
  assert.deepEqual(groups.map(([, name]) => name).sort(), [
    "ready_a",
    "ready_a_b",
    "ready_a_b_c",
    "ready_a_c",
    "ready_b",
    "ready_b_c",
    "ready_c",
  ]);
  const both = groups.find(([, name]) => name === "ready_a_c")?.[2] ?? "";
  assert.deepEqual(
    [...both.matchAll(/server (\S+)/g)].map(([, server]) => server),
    ["127.0.0.1:4001", "127.0.0.1:4003"],
  );
  assert.match(text, /if \(-f "\/tmp\/x y\/ready\/b"\) \{ set \$ready "\$\{ready\}_b"; \}/);
  assert.match(text, /proxy_next_upstream off;/);
});

test("backends have names of their own, and there are few", () => {
  requireBackends(backends);
  const [first] = backends as [(typeof backends)[0]];
  assert.throws(() => requireBackends([]), /1 to 4/);
  assert.throws(() => requireBackends([first, first]), /same name/);
  assert.throws(() => requireBackends([{ ...first, name: "a b" }]), /a name is of/);
  const five = "abcde".split("").map((name) => ({ ...first, name }));
  assert.throws(() => requireBackends(five), /1 to 4/);
});

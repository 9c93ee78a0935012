import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import { requireBackends } from "../../../scripts/balancers/balancer.ts";
import { DOCUMENTED_PROXIES, documentedConfiguration } from "../../../scripts/balancers/documented.ts";
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

const PAGE = readFileSync(new URL("../../../docs/proxies.md", import.meta.url), "utf8");
const PORTS = { clients: 8001, api: 8002 };

for (const name of DOCUMENTED_PROXIES) {
  test(`docs/proxies.md has a configuration of ${name}, which is run with other ports and else to the letter`, () => {
    const text = documentedConfiguration(name, PAGE, PORTS);
    assert.match(text, /127\.0\.0\.1:8001\b/);
    assert.match(text, /127\.0\.0\.1:8002\b/);
    assert.doesNotMatch(text, /8080|:80\b|listen 80;/);
  });

  test(`a page without a configuration of ${name}, with two or with two addresses of the API is refused`, () => {
    const block = new RegExp(`^\`\`\`${name}\n[\\s\\S]*?^\`\`\`$`, "m").exec(PAGE)?.[0] ?? "";
    const refuses = (page: string, error: RegExp) =>
      assert.throws(() => documentedConfiguration(name, page, PORTS), error);
    refuses(
      PAGE.replace(block, () => ""),
      /has 0 configurations/,
    );
    refuses(`${PAGE}\n${block}\n`, /has 2 configurations/);
    const twice = block.replace("127.0.0.1:8080", "127.0.0.1:8080 127.0.0.1:8080");
    refuses(
      PAGE.replace(block, () => twice),
      /"127\.0\.0\.1:8080" is there 2 times/,
    );
  });
}

test("what docs/proxies.md shows of Envoy is YAML, with the settings that matter", () => {
  const blocks = [...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => parse(text));
  const [envoy, policy] = blocks;
  assert.equal(blocks.length, 2);
  const cluster = envoy.static_resources.clusters[0];
  const options = Object.values(cluster.typed_extension_protocol_options)[0] as Record<string, unknown>;
  assert.deepEqual(options.common_http_protocol_options, { idle_timeout: "5s" });
  assert.equal(policy.spec.timeout.http.connectionIdleTimeout, "5s");
});

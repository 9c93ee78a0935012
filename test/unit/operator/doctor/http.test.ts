import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judgeHttp } from "../../../../src/operator/doctor/http.ts";
import type { HealthAnswer } from "../../../../src/operator/doctor/http-facts.ts";

const WELL: HealthAnswer = {
  status: 200,
  httpVersion: "1.1",
  server: "",
  location: "",
  body: '{"status":"ok"}',
};
const AWAY = { failure: "connect ECONNREFUSED" };
const NGINX = "nginx/1.22.1";
const REFUSED = "<h1>HTTP Version Not Supported</h1><p>This server does not support HTTP/1.0.</p>";

describe("the doctor's findings about the route from users to us", () => {
  const cases: [string, Partial<HealthAnswer> | typeof AWAY, typeof WELL | typeof AWAY, string, RegExp][] = [
    ["it leads to us", {}, AWAY, "ok", /leads to us/],
    ["it was found in HTTP/1.0", { httpVersion: "1.0" }, WELL, "warn", /in HTTP\/1\.0/],
    ["it cannot be asked", AWAY, WELL, "warn", /cannot be asked from here \(connect ECONNREFUSED\)/],
    [
      "the library's refusal is passed on",
      { status: 505, server: NGINX, body: REFUSED },
      WELL,
      "fail",
      /505 \("nginx\/1\.22\.1"\): a proxy speaks HTTP\/1\.0 to us/,
    ],
    ["only its words are passed on", { status: 502, body: REFUSED }, WELL, "fail", /speaks HTTP\/1\.0 to us/],
    ["its words are replaced", { status: 505, body: "" }, AWAY, "fail", /speaks HTTP\/1\.0 to us/],
    ["a sidecar refuses", { status: 426, server: "istio-envoy" }, WELL, "fail", /Envoy \(Istio's sidecar\)/],
    ["it redirects", { status: 301, location: "https://x.test/" }, WELL, "warn", /"https:\/\/x\.test\/"/],
    ["it leads elsewhere", { body: "<h1>Welcome to nginx!</h1>" }, WELL, "fail", /not as we do/],
    ["it is answered like another path", { status: 404, body: "" }, WELL, "fail", /not as we do/],
    ["we are well, and it is not", { status: 502, body: "" }, WELL, "fail", /does not reach us/],
    ["nobody serves", { status: 502, body: "" }, AWAY, "fail", /answers 502\.$/],
  ];
  for (const [what, seen, directly, state, said] of cases)
    it(`when ${what}`, () => {
      const byPublicUrl = "failure" in seen ? seen : { ...WELL, ...seen };
      const finding = judgeHttp("https://api.example.com/", { byPublicUrl, directly });
      assert.equal(finding.state, state);
      assert.match(finding.seen, said);
      assert.equal(finding.advice === "", state === "ok");
    });

  it("names the setting to change", () => {
    const seen = { ...WELL, status: 505, body: REFUSED };
    const { advice } = judgeHttp("https://api.example.com", { byPublicUrl: seen, directly: WELL });
    assert.match(advice, /proxy_http_version 1\.1;/);
    assert.match(advice, /docs\/proxies\.md/);
  });
});

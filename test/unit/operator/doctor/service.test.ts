import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BillingConfig } from "../../../../src/config/config.ts";
import { loadConfig } from "../../../../src/config/config.ts";
import { judgeBilling, judgePrice } from "../../../../src/operator/doctor/billing.ts";
import { judgeCollector } from "../../../../src/operator/doctor/collectors.ts";
import { judgeDeployment } from "../../../../src/operator/doctor/deployment.ts";
import type { DeploymentFacts } from "../../../../src/operator/doctor/deployment-facts.ts";
import { type DnsFacts, judgeServer } from "../../../../src/operator/doctor/dns.ts";
import { bytesText, type DoctorFinding, errorLine } from "../../../../src/operator/doctor/finding.ts";
import { createRedaction, secretsOf } from "../../../../src/operator/doctor/redaction.ts";
import { judgeSecrets } from "../../../../src/operator/doctor/secrets.ts";
import { judgeRoute } from "../../../../src/operator/doctor/smtp.ts";
import { createSecretBox } from "../../../../src/platform/secret-box.ts";

const said = (findings: readonly DoctorFinding[]) =>
  findings
    .filter(({ state }) => state === "warn" || state === "fail")
    .map(({ state, check }) => `${state} ${check}`);
const CONFIG = loadConfig({
  DATABASE_URL: "postgres://u:p@db/rcpt",
  REDIS_URL: "redis://c",
  S3_BUCKET: "lists",
});

const RUNNING: DeploymentFacts = {
  sessions: { api: 2, bulk: 1, relay: 1 },
  unfinishedJobs: 3,
  oldestTaskS: 5,
  oldestMailS: null,
  oldestDeliveryS: 1,
};

describe("what the doctor says of a running deployment", () => {
  const cases: [Partial<DeploymentFacts>, string[]][] = [
    [{}, []],
    [{ sessions: null }, []],
    [{ sessions: { api: 0, bulk: 1, relay: 1 } }, ["warn api"]],
    [{ sessions: { api: 1, bulk: 0, relay: 1 } }, ["fail bulk"]],
    [{ sessions: { api: 1, bulk: 0, relay: 1 }, unfinishedJobs: 0 }, ["warn bulk"]],
    [{ sessions: { api: 1, bulk: 1, relay: 0 } }, ["fail relay"]],
    [{ sessions: { api: 1, bulk: 1, relay: 0 }, oldestDeliveryS: null }, ["warn relay"]],
    [{ oldestTaskS: 4_000 }, ["warn jobs"]],
    [{ oldestDeliveryS: 4_000 }, ["warn webhooks"]],
    [{ oldestMailS: 4_000 }, []],
  ];
  for (const [facts, expected] of cases)
    it(`with ${JSON.stringify(facts)}`, () =>
      assert.deepEqual(said(judgeDeployment({ ...RUNNING, ...facts }, CONFIG)), expected));

  it("without object storage no bulk processes are expected", () => {
    const facts = { ...RUNNING, sessions: { api: 1, bulk: 0, relay: 1 } };
    assert.deepEqual(said(judgeDeployment(facts, { ...CONFIG, objects: null })), []);
  });

  it("pending mails are reported where mails are sent", () => {
    const config = { ...CONFIG, mail: { url: "smtp://mail", from: "a@example.com" } };
    assert.deepEqual(said(judgeDeployment({ ...RUNNING, oldestMailS: 4_000 }, config)), ["warn mails"]);
  });
});

describe("what the doctor says of a DNS server", () => {
  const server = "192.0.2.1";
  const good: DnsFacts = {
    server,
    latencyMs: 3,
    known: "ok",
    absent: { status: "nxdomain", proven: true },
    tcp: true,
  };
  const cases: [Partial<DnsFacts>, string[]][] = [
    [{}, []],
    [{ known: "no_answer" }, [`fail ${server}`]],
    [{ known: "server_failure" }, [`fail ${server}`]],
    [{ known: "nxdomain" }, [`fail ${server}`]],
    [{ known: "no_data" }, [`fail ${server}`]],
    [{ absent: { status: "ok", proven: false } }, [`fail ${server}`]],
    [{ absent: { status: "nxdomain", proven: false } }, [`warn ${server}`]],
    [{ absent: { status: "server_failure", proven: false } }, [`warn ${server}`]],
    [{ tcp: false }, [`warn ${server}`]],
    [{ latencyMs: 900, tcp: false }, [`warn ${server}`, `warn ${server}`]],
  ];
  for (const [facts, expected] of cases)
    it(`with ${JSON.stringify(facts)}`, () =>
      assert.deepEqual(said(judgeServer({ ...good, ...facts })), expected));
});

describe("the doctor's findings about an egress route", () => {
  it("goes by preflight", () => {
    const finding = (
      check: "port_25" | "spf",
      result: "fail" | "pass" | "unknown" | "skipped",
      weight: "service" | "advice",
    ) => ({ check, result, weight, seen: "Seen.", advice: result === "fail" ? "Do." : "" }) as const;
    const findings = [
      finding("port_25", "fail", "service"),
      finding("spf", "fail", "advice"),
      finding("port_25", "unknown", "service"),
      finding("port_25", "pass", "service"),
      finding("spf", "skipped", "advice"),
    ];
    const report = { way: "direct", findings } as unknown as Parameters<typeof judgeRoute>[0];
    assert.deepEqual(
      judgeRoute(report).map(({ check, state }) => `${state} ${check}`),
      [
        "fail direct: port 25",
        "warn direct: spf",
        "warn direct: port 25",
        "ok direct: port 25",
        "skipped direct: spf",
      ],
    );
  });
});

describe("what the doctor says of SECRETS_KEY", () => {
  const box = createSecretBox(Buffer.alloc(32, 1));
  const sealed = (by: typeof box, place: string) => ({
    what: "a webhook's secret",
    place,
    bytes: by.seal("s", place),
  });
  const other = createSecretBox(Buffer.alloc(32, 2));
  it("without a key, with the right one, the wrong one, and one that is right for some", () => {
    assert.equal(judgeSecrets(null, []).state, "skipped");
    assert.equal(judgeSecrets(null, [sealed(box, "a")]).state, "fail");
    assert.equal(judgeSecrets(box, []).state, "ok");
    assert.equal(judgeSecrets(box, [sealed(box, "a")]).state, "ok");
    assert.equal(judgeSecrets(box, [sealed(other, "a")]).state, "fail");
    assert.match(judgeSecrets(box, [sealed(box, "a"), sealed(other, "b")]).seen, /; others it does/);
    assert.equal(judgeSecrets(box, [{ ...sealed(box, "a"), place: "b" }]).state, "fail");
  });
});

describe("what the doctor says of billing", () => {
  const good: BillingConfig = {
    secretKey: "sk_live_12345678",
    webhookSecret: "whsec_12345678",
    apiBase: "https://api.stripe.com",
    returnUrl: "https://api.example.com/docs",
    prices: new Map([["price_1", { tier: "pro", interval: "month" }]]),
  };
  const http = { ...CONFIG.http, publicUrl: "https://api.example.com" };
  const cases: [Partial<BillingConfig>, string[]][] = [
    [{}, []],
    [{ secretKey: "rk_live_12345678" }, []],
    [{ secretKey: "sk_test_12345678" }, ["warn mode"]],
    [{ secretKey: "pk_live_12345678" }, ["warn STRIPE_SECRET_KEY"]],
    [{ webhookSecret: "we_12345678" }, ["warn STRIPE_WEBHOOK_SECRET"]],
    [{ prices: new Map() }, ["warn prices"]],
    [{ prices: new Map([["prod_1", { tier: "pro", interval: "month" }]]) }, ["warn prices"]],
  ];
  for (const [billing, expected] of cases)
    it(`with ${JSON.stringify(billing)}`, () => {
      const findings = judgeBilling({ ...good, ...billing }, { http });
      assert.deepEqual(said(findings), expected);
      assert.doesNotMatch(JSON.stringify(findings), /12345678/);
    });
});

describe("what the doctor says of a price", () => {
  const plan = { tier: "pro", interval: "month" };
  const good = { active: true, recurring: { interval: "month" } };
  for (const [status, body, state, words] of [
    [200, good, "ok", /price_1 is pro by the month/],
    [200, { ...good, active: false }, "fail", /archived/],
    [200, { ...good, recurring: null }, "fail", /not charged by the month/],
    [200, null, "warn", /does not tell/],
    [401, null, "fail", /refuses STRIPE_SECRET_KEY/],
    [403, null, "warn", /does not let this key read/],
    [404, null, "fail", /knows no price/],
    [429, null, "warn", /does not tell.*429/],
    [503, null, "warn", /does not tell.*503/],
  ] as const)
    it(`that is answered ${status}: ${state}`, () => {
      const finding = judgePrice("price_1", plan, { status, body });
      assert.equal(finding.state, state);
      assert.match(finding.seen, words);
    });
});

describe("what the doctor says of a collector", () => {
  for (const [status, state] of [
    [200, "ok"],
    [202, "ok"],
    [401, "warn"],
    [404, "warn"],
    [503, "warn"],
  ] as const)
    it(`that answers ${status}`, () => assert.equal(judgeCollector("otel:4318", status).state, state));
});

describe("what is secret", () => {
  const config = loadConfig({
    DATABASE_URL: "postgres://u:p%40ss-of-db@db/rcpt",
    REDIS_URL: "rediss://:pass-of-redis@cache",
    S3_BUCKET: "lists",
    S3_ACCESS_KEY_ID: "AKIAEXAMPLE",
    S3_SECRET_ACCESS_KEY: "secret-of-s3",
    SECRETS_KEY: Buffer.alloc(32, 5).toString("base64"),
    STRIPE_SECRET_KEY: "sk_live_of_stripe",
    STRIPE_WEBHOOK_SECRET: "whsec_of_stripe",
    SMTP_PROXIES: "socks5://user:pass-of-proxy@10.0.0.1:1080",
    SMTP_OUT_URL: "smtp://u:pass-of-mail@mail.example.com",
    SMTP_OUT_FROM: "a@example.com",
    PUBLIC_URL: "https://api.example.com",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://otel:4318",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-otel",
  });
  const mask = createRedaction(secretsOf(config));
  for (const secret of [
    ...[
      "p@ss-of-db",
      "p%40ss-of-db",
      "pass-of-redis",
      "secret-of-s3",
      "sk_live_of_stripe",
      "whsec_of_stripe",
    ],
    ...["pass-of-proxy", "pass-of-mail", "Bearer of-otel", Buffer.alloc(32, 5).toString("base64")],
    Buffer.alloc(32, 5).toString("hex"),
  ])
    it(`is masked: ${secret}`, () =>
      assert.equal(mask(`they said ${secret}, twice: ${secret}.`), "they said ***, twice: ***."));

  it("also in a URL that no setting has", () => {
    assert.equal(mask("cannot reach https://me:hidden@host/x"), "cannot reach https://me:***@host/x");
    assert.equal(mask("http://127.0.0.1:8080 answers"), "http://127.0.0.1:8080 answers");
  });
});

describe("words", () => {
  it("for errors", () => {
    assert.equal(errorLine(new Error("first\nsecond")), "first");
    assert.equal(errorLine(Object.assign(new Error(""), { code: "ECONNREFUSED" })), "ECONNREFUSED");
    assert.equal(
      errorLine(new Error("fetch failed", { cause: new Error("getaddrinfo") })),
      "fetch failed: getaddrinfo",
    );
    assert.equal(errorLine(new AggregateError([new Error("one"), new Error("two")])), "AggregateError: one");
    assert.equal(errorLine("text"), "text");
  });
  it("for bytes", () => {
    assert.deepEqual([0, 1_023, 1_024, 15 * 1_048_576, 2 ** 50].map(bytesText), [
      "0 bytes",
      "1023 bytes",
      "1.0 KiB",
      "15 MiB",
      "1024 TiB",
    ]);
  });
});

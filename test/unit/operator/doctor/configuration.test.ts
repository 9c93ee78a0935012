import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diagnoseConfig, loadConfig, SETTING_NAMES } from "../../../../src/config/config.ts";
import { isLocalHost, judgeConfiguration } from "../../../../src/operator/doctor/configuration.ts";
import { nearMisses, slipsBetween } from "../../../../src/operator/doctor/near-miss.ts";

const NEEDED = { DATABASE_URL: "postgres://u:p@db/rcpt", REDIS_URL: "redis://cache" };
/** A deployment about which there is nothing to say. */
const GOOD = {
  ...NEEDED,
  PUBLIC_URL: "https://api.example.com",
  TRUSTED_PROXIES: "10.0.0.0/8",
  S3_BUCKET: "lists",
  S3_ENDPOINT: "https://s3.example.com",
  SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
  SMTP_HELO_NAME: "probe.example.com",
};

function judge(settings: Record<string, string>): string[] {
  return judgeConfiguration(diagnoseConfig({ ...GOOD, ...settings }))
    .filter(({ state }) => state !== "ok")
    .map(({ state, check }) => `${state} ${check}`);
}

/** Changes to the good settings, with the expected findings. */
const CASES: [Record<string, string>, string[]][] = [
  [{}, []],
  [{ PUBLIC_URL: "" }, ["warn PUBLIC_URL"]],
  [{ PUBLIC_URL: "http://api.example.com" }, ["warn PUBLIC_URL"]],
  [{ PUBLIC_URL: "http://127.0.0.1:8080", TRUSTED_PROXIES: "" }, []],
  [{ TRUSTED_PROXIES: "" }, ["warn TRUSTED_PROXIES"]],
  [{ TRUSTED_PROXIES: "10.0.0.0/8,0.0.0.0/0" }, ["warn TRUSTED_PROXIES"]],
  [{ S3_ENDPOINT: "http://minio:9000" }, ["warn S3_PUBLIC_ENDPOINT"]],
  [{ S3_ENDPOINT: "http://minio.data.svc:9000" }, ["warn S3_PUBLIC_ENDPOINT"]],
  [{ S3_ENDPOINT: "http://minio:9000", S3_PUBLIC_ENDPOINT: "https://s3.example.com" }, []],
  [{ S3_BUCKET: "", S3_ENDPOINT: "" }, ["warn S3_BUCKET"]],
  [{ SECRETS_KEY: "" }, ["warn SECRETS_KEY"]],
  [{ SMTP_HELO_NAME: "" }, ["warn SMTP_HELO_NAME"]],
  [{ ROLE: "relay", SMTP_HELO_NAME: "" }, []],
  [{ ROLE: "relay", KUBERNETES_SERVICE_HOST: "10.0.0.1" }, []],
  [{ ROLE: "relay", SECRETS_KEY: "" }, ["warn SECRETS_KEY"]],
  [{ ROLE: "bulk", SECRETS_KEY: "", SHUTDOWN_GRACE_MS: "9000" }, []],
  [{ ROLE: "bulk", KUBERNETES_SERVICE_HOST: "10.0.0.1" }, ["warn EGRESS_ID"]],
  [
    { ROLE: "api", KUBERNETES_SERVICE_HOST: "10.0.0.1", SECRETS_KEY: "" },
    ["warn DRAIN_DELAY_MS", "warn SECRETS_KEY", "warn EGRESS_ID"],
  ],
  [{ LOG_LEVEL: "debug" }, ["warn LOG_LEVEL"]],
  [{ SHUTDOWN_GRACE_MS: "9000" }, ["warn SHUTDOWN_GRACE_MS"]],
  [{ WEBHOOK_PRIVATE_ADDRESSES: "true" }, ["fail WEBHOOK_PRIVATE_ADDRESSES"]],
  [{ PROBE_PRIVATE_ADDRESSES: "true" }, ["fail PROBE_PRIVATE_ADDRESSES"]],
  [{ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, ["warn DRAIN_DELAY_MS", "warn EGRESS_ID"]],
  [
    {
      KUBERNETES_SERVICE_HOST: "10.0.0.1",
      EGRESS_ID: "nat-1",
      DRAIN_DELAY_MS: "10000",
      SHUTDOWN_GRACE_MS: "50000",
    },
    [],
  ],
  [{ CACHE_LIFETIMES: "no_such_reason=5" }, ["fail CACHE_LIFETIMES"]],
  [{ SHAPING: "{" }, ["fail SHAPING"]],
  [{ PORT: "http", ROLE: "boss" }, ["fail ROLE", "fail PORT"]],
  [{ DATABASE_URL: "", REDIS_URL: "http://cache" }, ["fail DATABASE_URL", "fail REDIS_URL"]],
  [
    { SMTP_OUT_URL: "smtp://mail.example.com", SECRETS_KEY: "", PUBLIC_URL: "" },
    ["fail SMTP_OUT_FROM", "fail SECRETS_KEY", "fail PUBLIC_URL", "warn PUBLIC_URL", "warn SECRETS_KEY"],
  ],
  [{ STRIPE_SECRET_KEY: "sk_test_12345678" }, ["fail STRIPE_WEBHOOK_SECRET"]],
  [{ DRAIN_DELAY_MS: "20000" }, ["fail DRAIN_DELAY_MS"]],
  [{ DATABSE_URL: "x" }, ["warn DATABSE_URL"]],
  [{ EGRES_ID: "x" }, ["fail EGRES_ID"]],
  [{ SMTP_RETRIES: "x" }, ["warn SMTP_RETRIES"]],
];

describe("what the doctor says of settings", () => {
  for (const [settings, expected] of CASES)
    it(`of ${JSON.stringify(settings)}`, () => assert.deepEqual(judge(settings), expected));

  it("a Service of Kubernetes that is named like a setting is reported as what it is", () => {
    const found = judgeConfiguration(diagnoseConfig({ ...GOOD, SMTP_PORT: "tcp://10.0.0.1:25" }));
    const advice = found.find(({ check }) => check === "SMTP_PORT")?.advice ?? "";
    assert.match(advice, /enableServiceLinks: false/);
  });

  it("what is right is read as ever beside what is wrong", () => {
    const { config, problems, given } = diagnoseConfig({ ...GOOD, PORT: "http", METRICS_PORT: "9191" });
    assert.deepEqual(
      problems.map(({ setting }) => setting),
      ["PORT"],
    );
    assert.deepEqual([config.http.port, config.http.metricsPort, given.has("PORT")], [8080, 9191, false]);
    assert.deepEqual(diagnoseConfig(GOOD).config, loadConfig(GOOD));
  });

  it("a value is never among the words", () => {
    const value = "supersecretvalue";
    // SHAPING is not secret: its message shows where it is not JSON.
    const names = SETTING_NAMES.filter((name) => name !== "SHAPING");
    const wrong = Object.fromEntries(names.map((name) => [name, `\n${value}`]));
    assert.doesNotMatch(JSON.stringify(judgeConfiguration(diagnoseConfig(wrong))), new RegExp(value));
  });
});

describe("names that look like settings", () => {
  const MEANT: [string, string | null | undefined][] = [
    ["DATABSE_URL", "DATABASE_URL"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["DATBASE_URL_FILE", "DATABASE_URL"],
    ["database_url", "DATABASE_URL"],
    ["RCPT_REDIS_URL", "REDIS_URL"],
    ["SMTP_HELO", "SMTP_HELO_NAME"],
    ["SECRET_KEY", "SECRETS_KEY"],
    ["S3_ACCESS_KEY", "S3_ACCESS_KEY_ID"],
    ["S3_WHATEVER", null],
    ["SECRETS_KEY_FILE", undefined],
    ["SMTP_SERVICE_HOST", undefined],
    ["SMTP_PORT_25_TCP", undefined],
    ["S3_PORT", undefined],
    ["RCPT_API_PORT", undefined],
    ["RCPT_RUN", undefined],
    ["PATH", undefined],
    ["HOSTNAME", undefined],
    ["PORTS", undefined],
    ["NODE_OPTIONS", undefined],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", undefined],
    ["AWS_ACCESS_KEY_ID", undefined],
    ["AWS_SECRET_ACCESS_KEY", undefined],
    ["UWS_HTTP_MAX_HEADERS_SIZE", undefined],
  ];
  for (const [variable, meant] of MEANT)
    it(`${variable}: ${meant === undefined ? "somebody else's" : (meant ?? "none that we know")}`, () => {
      const expected = meant === undefined ? [] : [{ variable, meant }];
      assert.deepEqual(nearMisses([variable], SETTING_NAMES), expected);
    });

  it("no setting is a slip of another", () => {
    assert.deepEqual(nearMisses(SETTING_NAMES, SETTING_NAMES), []);
    assert.deepEqual(
      nearMisses(
        SETTING_NAMES.map((name) => `${name}_FILE`),
        SETTING_NAMES,
      ),
      [],
    );
  });

  it("slips are counted", () => {
    assert.equal(slipsBetween("same", "same", 2), 0);
    assert.equal(slipsBetween("abcd", "acbd", 2), 1);
    assert.equal(slipsBetween("abcd", "abd", 2), 1);
    assert.equal(slipsBetween("abcd", "abxd", 2), 1);
    assert.equal(slipsBetween("abcd", "xyzw", 2), 3);
    assert.equal(slipsBetween("a", "abcdef", 2), 3);
  });
});

describe("hosts that clients elsewhere cannot mean", () => {
  for (const [host, local] of [
    ["127.0.0.1", true],
    ["10.1.2.3", true],
    ["[::1]", true],
    ["localhost", true],
    ["minio", true],
    ["minio.data.svc", true],
    ["s3.corp.internal", true],
    ["s3.eu-central-1.amazonaws.com", false],
    ["8.8.8.8", false],
  ] as const)
    it(`${host}: ${local}`, () => assert.equal(isLocalHost(host), local));
});

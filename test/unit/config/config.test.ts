import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ConfigError, loadConfig, loadPreflightConfig, SETTING_NAMES } from "../../../src/config/config.ts";
import { parseHeloName, parseReversePath } from "../../../src/smtp/wire/mailbox.ts";
import fc from "../../support/properties.ts";

const NEEDED = { DATABASE_URL: "postgres://u:p@db/rcpt", REDIS_URL: "redis://cache" };
const load = (settings: Record<string, string>) => loadConfig({ ...NEEDED, ...settings });

const dir = mkdtempSync(join(tmpdir(), "rcpt-config-"));
after(() => rmSync(dir, { recursive: true }));

let files = 0;
function file(content: string): string {
  const path = join(dir, `setting-${files++}`);
  writeFileSync(path, content);
  return path;
}

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return assert.fail("was accepted");
}

/** Settings that must stop the process, and the variable that must be named. */
const WRONG: [Record<string, string>, string][] = [
  [{ ROLE: "boss" }, "ROLE"],
  [{ HOST: "example.com" }, "HOST"],
  [{ METRICS_HOST: "example.com" }, "METRICS_HOST"],
  [{ PORT: "http" }, "PORT"],
  [{ PORT: "65536" }, "PORT"],
  [{ PORT: "-1" }, "PORT"],
  [{ PORT: "8080", METRICS_PORT: "8080" }, "METRICS_PORT"],
  [{ PUBLIC_URL: "example.com" }, "PUBLIC_URL"],
  [{ LOG_LEVEL: "loud" }, "LOG_LEVEL"],
  [{ DATABASE_URL: "mysql://db" }, "DATABASE_URL"],
  [{ REDIS_URL: "http://cache" }, "REDIS_URL"],
  [{ S3_BUCKET: "No Bucket" }, "S3_BUCKET"],
  [{ S3_BUCKET: "bucket", S3_ACCESS_KEY_ID: "only-one" }, "S3_SECRET_ACCESS_KEY"],
  [{ S3_BUCKET: "bucket", S3_SECRET_ACCESS_KEY: "only-one" }, "S3_ACCESS_KEY_ID"],
  [{ S3_ENDPOINT: "http://127.0.0.1:9000" }, "S3_BUCKET"],
  [{ DNS_SERVERS: "resolver.example.com" }, "DNS_SERVERS"],
  [{ DNS_SERVERS: "127.0.0.1:99999" }, "DNS_SERVERS"],
  [{ DNS_SERVERS: " , " }, "DNS_SERVERS"],
  [{ DOMAIN_SIGNALS: "spf,dkim" }, "DOMAIN_SIGNALS"],
  [{ DOMAIN_SIGNALS: "none,spf" }, "DOMAIN_SIGNALS"],
  [{ DOMAIN_BLOCKLIST_ZONES: "not a zone" }, "DOMAIN_BLOCKLIST_ZONES"],
  [{ DOMAIN_BLOCKLIST_ZONES: "a.test,b.test,c.test,d.test,e.test" }, "DOMAIN_BLOCKLIST_ZONES"],
  [{ SMTP_PORT: "2525" }, "SMTP_PORT"],
  [{ SMTP_HELO_NAME: "no name\r\nMAIL FROM:<>" }, "SMTP_HELO_NAME"],
  [{ SMTP_MAIL_FROM: "someone" }, "SMTP_MAIL_FROM"],
  [{ SMTP_MAIL_FROM: "a@b.example>\r\nDATA" }, "SMTP_MAIL_FROM"],
  [{ SMTP_MAIL_FROM: "probe@example..com" }, "SMTP_MAIL_FROM"],
  [{ SMTP_SOURCE_ADDRESSES: "eth0" }, "SMTP_SOURCE_ADDRESSES"],
  [{ EGRESS_ID: "two words" }, "EGRESS_ID"],
  [{ PROBE_PRIVATE_ADDRESSES: "maybe" }, "PROBE_PRIVATE_ADDRESSES"],
  [{ VERIFY_DEADLINE_MS: "1" }, "VERIFY_DEADLINE_MS"],
  [{ CHECK_THREADS: "0" }, "CHECK_THREADS"],
  [{ TRUSTED_PROXIES: "10.0.0.0/40" }, "TRUSTED_PROXIES"],
  [{ CACHE_LIFETIMES: "greylisted" }, "CACHE_LIFETIMES"],
  [{ REGISTRATION: "maybe" }, "REGISTRATION"],
  [{ SECRETS_KEY: "short" }, "SECRETS_KEY"],
  [{ SECRETS_KEY: "g".repeat(64) }, "SECRETS_KEY"],
  [{ SMTP_OUT_URL: "http://mail" }, "SMTP_OUT_URL"],
  [{ SMTP_OUT_URL: "smtp://mail", SECRETS_KEY: "0".repeat(64) }, "SMTP_OUT_FROM"],
  [{ SMTP_OUT_URL: "smtp://mail", SMTP_OUT_FROM: "rcpt@example.com" }, "SECRETS_KEY"],
  [
    { SMTP_OUT_URL: "smtp://mail", SMTP_OUT_FROM: "rcpt@example.com", SECRETS_KEY: "0".repeat(64) },
    "PUBLIC_URL",
  ],
  [{ SMTP_OUT_FROM: "no address" }, "SMTP_OUT_FROM"],
  [{ WEBHOOK_PRIVATE_ADDRESSES: "maybe" }, "WEBHOOK_PRIVATE_ADDRESSES"],
  [{ STRIPE_SECRET_KEY: "sk_test_12345678" }, "STRIPE_WEBHOOK_SECRET"],
  [{ STRIPE_WEBHOOK_SECRET: "whsec_12345678" }, "STRIPE_SECRET_KEY"],
  [{ STRIPE_API_BASE: "stripe.com" }, "STRIPE_API_BASE"],
  [{ STRIPE_API_BASE: "https://mock.example.com/stripe" }, "STRIPE_API_BASE"],
  [{ STRIPE_API_BASE: "https://key@mock.example.com" }, "STRIPE_API_BASE"],
  [{ STRIPE_API_BASE: "https://mock.example.com/?a=b" }, "STRIPE_API_BASE"],
  [{ STRIPE_RETURN_URL: "javascript:alert(1)" }, "STRIPE_RETURN_URL"],
  [{ STRIPE_PRICE_PRO_MONTH: "two words" }, "STRIPE_PRICE_PRO_MONTH"],
  [{ CORS_ORIGINS: "https://app.example.com/path" }, "CORS_ORIGINS"],
  [{ CORS_ORIGINS: "*" }, "CORS_ORIGINS"],
  [{ SMTP_SOURCE_ADDRESSES: "192.0.2.1,192.0.2.1" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "192.0.2.1=" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "2001:db8::1,2001:0DB8:0::0:1" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "0.0.0.0" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "0::0" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "::ffff:192.0.2.1" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "0:0:0:0:0:FFFF:c000:201" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "fe80::1%eth0" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "192.0.2.1=0x7f.1" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "192.0.2.1=a b" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_SOURCE_ADDRESSES: "192.0.2.1=a.example=b" }, "SMTP_SOURCE_ADDRESSES"],
  [{ SMTP_PROXIES: "127.0.0.1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "http://127.0.0.1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://127.0.0.1" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://0.0.0.0:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://[::]:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://[::ffff:127.0.0.1]:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://0x7f.1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://0x7f000001:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://[::1]:1080,socks5://[0:0::01]:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://127.0.0.1:0" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://127.0.0.1:65536" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://127.0.0.1:1080/path" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://127.0.0.1:1080?a=b" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://127.0.0.1:1080#name=x" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://user@127.0.0.1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://user:%ff@127.0.0.1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: `socks5://user:${"p".repeat(256)}@127.0.0.1:1080` }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://[::1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://999.1.1.1:1080" }, "SMTP_PROXIES"],
  [{ SMTP_PROXIES: "socks5://a:b@10.0.0.1:1080,socks5://c:d@10.0.0.1:1080" }, "SMTP_PROXIES"],
];

describe("the ways out", () => {
  const heloName = "probe.example.com";
  const smtp = (settings: Record<string, string>) => load({ SMTP_HELO_NAME: heloName, ...settings }).smtp;

  it("are source addresses, each with a HELO name of its own or the deployment's", () => {
    assert.deepEqual(
      smtp({ SMTP_SOURCE_ADDRESSES: "192.0.2.1=mail1.example.com, 192.0.2.2,2001:db8::1" }).sourceAddresses,
      [
        { address: "192.0.2.1", heloName: "mail1.example.com" },
        { address: "192.0.2.2", heloName },
        { address: "2001:db8::1", heloName },
      ],
    );
  });

  it("and proxies, from a mounted file too", () => {
    const path = file(
      "socks5://10.0.0.1:1080, socks5h://us%40er:p%2Cw%3A@proxy.Internal:9050#helo=out.example.com,socks5://[fd00::1]:1\n",
    );
    assert.deepEqual(smtp({ SMTP_PROXIES_FILE: path }).proxies, [
      { host: "10.0.0.1", port: 1_080, credentials: null, heloName },
      {
        host: "proxy.internal",
        port: 9_050,
        credentials: { username: "us@er", password: "p,w:" },
        heloName: "out.example.com",
      },
      { host: "fd00::1", port: 1, credentials: null, heloName },
    ]);
  });

  it("are chosen by shaping, given as such or in a file that errors name", () => {
    const json = '{"default":{"maxConnections":3}}';
    const path = file(`${json}\n`);
    assert.equal(load({}).shaping, null);
    assert.deepEqual(load({ SHAPING: json }).shaping, { json, setting: "SHAPING" });
    assert.deepEqual(load({ SHAPING_FILE: path }).shaping, { json, setting: `SHAPING_FILE: ${path}` });
  });

  it("are none unless they are given", () => {
    assert.deepEqual([smtp({}).sourceAddresses, smtp({}).proxies], [[], []]);
  });
});

describe("a wrong setting", () => {
  for (const [settings, name] of WRONG) {
    it(`is named, on one line: ${JSON.stringify(settings)}`, () => {
      const message = messageOf(() => load(settings));
      assert.match(message, new RegExp(`^${name}: .+`));
      assert.doesNotMatch(message, /[\r\n]/);
    });
  }

  it("that is missing is called required", () => {
    assert.equal(
      messageOf(() => loadConfig({ REDIS_URL: "redis://cache" })),
      "DATABASE_URL: is required",
    );
    assert.equal(
      messageOf(() => loadConfig({ DATABASE_URL: "", REDIS_URL: "redis://c" })),
      "DATABASE_URL: is required",
    );
  });

  it("never shows the value, which may be a secret", () => {
    const message = messageOf(() => load({ DATABASE_URL: "mysql://user:hunter2@db" }));
    assert.doesNotMatch(message, /hunter2/);
    for (const rest of ["db", "db:0", "db:1080/x", "db:1080#helo=-", ":1080", "db:1080,socks5://db:1080"]) {
      const proxies = `socks5://user:hunter2@${rest}`;
      assert.doesNotMatch(
        messageOf(() => load({ SMTP_PROXIES: proxies })),
        /hunter2/,
      );
    }
  });

  it("of any kind stops with a ConfigError and nothing else", () => {
    fc.assert(
      fc.property(fc.constantFrom(...SETTING_NAMES), fc.string(), (name, value) => {
        try {
          load({ [name]: value });
        } catch (error) {
          assert.ok(error instanceof ConfigError);
          assert.ok(error.message.startsWith(`${name}: `) || /^[A-Z0-9_]+: /.test(error.message));
        }
      }),
      { seed: 5321, numRuns: 2_000 },
    );
  });
});

describe("what a probe says of itself", () => {
  it("can be sent whenever it is accepted here", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.emailAddress(), fc.domain()), (value) => {
        for (const [name, read] of [
          ["SMTP_MAIL_FROM", parseReversePath],
          ["SMTP_HELO_NAME", parseHeloName],
        ] as const) {
          let config: ReturnType<typeof load>;
          try {
            config = load({ [name]: value });
          } catch {
            continue;
          }
          assert.notEqual(
            read(name === "SMTP_MAIL_FROM" ? config.smtp.mailFrom : config.smtp.heloName),
            null,
          );
        }
      }),
      { seed: 5321, numRuns: 3_000 },
    );
  });
});

describe("NAME_FILE", () => {
  it("is read, without the line end", () => {
    const path = file("postgres://u:p@elsewhere/rcpt\n");
    const config = loadConfig({ REDIS_URL: "redis://cache", DATABASE_URL_FILE: path });
    assert.equal(config.database.url, "postgres://u:p@elsewhere/rcpt");
  });

  it("that cannot be read is named", () => {
    const message = messageOf(() => load({ EGRESS_ID_FILE: join(dir, "missing") }));
    assert.match(message, /^EGRESS_ID_FILE: cannot read .+ENOENT/);
  });

  it("and NAME together are refused", () => {
    assert.match(
      messageOf(() => load({ EGRESS_ID: "a", EGRESS_ID_FILE: file("b") })),
      /^EGRESS_ID: /,
    );
  });
});

describe("defaults", () => {
  it("are those of docs/configuration.md", () => {
    const config = load({});
    assert.deepEqual(
      [config.role, config.http.host, config.http.port, config.logLevel],
      ["all", "0.0.0.0", 8080, "info"],
    );
    assert.deepEqual([config.http.metricsHost, config.http.metricsPort], ["127.0.0.1", 9090]);
    assert.deepEqual(
      [config.smtp.port, config.smtp.mailFrom, config.smtp.probePrivateAddresses, config.verify.deadlineMs],
      [25, "", false, 10_000],
    );
    assert.equal(config.objects, null);
    assert.equal(config.verify.threads, availableParallelism());
  });

  it("leave a worker's main thread a core", () => {
    assert.equal(load({ ROLE: "bulk" }).verify.threads, Math.max(1, availableParallelism() - 1));
    assert.equal(load({ ROLE: "bulk", CHECK_THREADS: "3" }).verify.threads, 3);
  });

  it("let the public endpoint follow the endpoint", () => {
    const objects = load({ S3_ENDPOINT: "http://127.0.0.1:9000", S3_BUCKET: "rcpt" }).objects;
    assert.equal(objects?.publicEndpoint, "http://127.0.0.1:9000");
    assert.equal(objects?.credentials, null);
  });

  it("ask the DNS for SPF and DMARC by default, and for no blocklist", () => {
    assert.deepEqual(load({}).signals, { spf: true, dmarc: true, blocklistZones: [] });
    assert.deepEqual(load({ DOMAIN_SIGNALS: "none" }).signals, {
      spf: false,
      dmarc: false,
      blocklistZones: [],
    });
    const some = load({
      DOMAIN_SIGNALS: "dmarc",
      DOMAIN_BLOCKLIST_ZONES: "dbl.example.net, two.example",
    }).signals;
    assert.deepEqual(some, { spf: false, dmarc: true, blocklistZones: ["dbl.example.net", "two.example"] });
  });

  it("read lists, lifetimes and the null sender", () => {
    const config = load({
      DNS_SERVERS: "127.0.0.1:5353, [::1]:53,9.9.9.9",
      CACHE_LIFETIMES: "greylisted=60, accepted_mailbox=3600",
      SMTP_MAIL_FROM: "<>",
    });
    assert.deepEqual(config.dns.servers, ["127.0.0.1:5353", "[::1]:53", "9.9.9.9"]);
    assert.deepEqual(
      [...config.verify.lifetimesS],
      [
        ["greylisted", 60],
        ["accepted_mailbox", 3600],
      ],
    );
    assert.equal(config.smtp.mailFrom, "");
  });

  it("read the secrets key as base64 and as hex, the prices by tier and interval", () => {
    const bytes = Buffer.alloc(32, 200);
    for (const encoding of ["base64", "hex"] as const)
      assert.deepEqual(load({ SECRETS_KEY: bytes.toString(encoding) }).secretsKey, bytes);
    assert.equal(load({}).billing, null);
    const { billing } = load({
      STRIPE_SECRET_KEY: "sk_test_12345678",
      STRIPE_WEBHOOK_SECRET: "whsec_12345678",
      STRIPE_PRICE_PRO_PLUS_YEAR: "price_1",
    });
    assert.deepEqual(billing?.prices, new Map([["price_1", { tier: "pro_plus", interval: "year" }]]));
    assert.equal(billing?.apiBase, "https://api.stripe.com");
  });

  it("take Stripe's base by its origin, and where customers return to from the public address", () => {
    const billingOf = (settings: Record<string, string>) =>
      load({
        STRIPE_SECRET_KEY: "sk_test_12345678",
        STRIPE_WEBHOOK_SECRET: "whsec_12345678",
        HOST: "0.0.0.0",
        PORT: "8080",
        ...settings,
      }).billing;
    assert.equal(billingOf({ STRIPE_API_BASE: "http://127.0.0.1:4242/" })?.apiBase, "http://127.0.0.1:4242");
    assert.equal(billingOf({})?.returnUrl, "http://127.0.0.1:8080/billing");
    assert.equal(billingOf({ PUBLIC_URL: "https://a.test/api/" })?.returnUrl, "https://a.test/api/billing");
    assert.equal(billingOf({ STRIPE_RETURN_URL: "https://b.test/x?y" })?.returnUrl, "https://b.test/x?y");
  });

  it("do not let two tiers share a price", () => {
    const prices = { STRIPE_PRICE_PRO_MONTH: "price_1", STRIPE_PRICE_STARTER_MONTH: "price_1" };
    assert.match(
      messageOf(() => load(prices)),
      /^STRIPE_PRICE_/,
    );
  });

  it("name the block lists that are asked about our addresses, or none", () => {
    assert.ok(load({}).selfCheck.dnsblZones.includes("zen.spamhaus.org"));
    assert.deepEqual(load({ DNSBL_ZONES: "BL.example.net, two.example" }).selfCheck.dnsblZones, [
      "bl.example.net",
      "two.example",
    ]);
    assert.deepEqual(load({ DNSBL_ZONES: "none" }).selfCheck.dnsblZones, []);
    for (const wrong of ["https://bl.example", "bl", "none,bl.example.net"])
      assert.match(
        messageOf(() => load({ DNSBL_ZONES: wrong })),
        /^DNSBL_ZONES: /,
      );
    assert.equal(load({ PREFLIGHT_EVERY_S: "30" }).selfCheck.everyMs, 30_000);
  });

  it("of preflight want no database, and are as strict", () => {
    const { smtp, dns } = loadPreflightConfig({
      SMTP_HELO_NAME: "probe.example.com",
      DNS_SERVERS: "192.0.2.53",
    });
    assert.deepEqual([smtp.heloName, smtp.heloNameGiven, smtp.port], ["probe.example.com", true, 25]);
    assert.deepEqual(dns.servers, ["192.0.2.53"]);
    assert.match(
      messageOf(() => loadPreflightConfig({ SMTP_PORT: "2525" })),
      /^SMTP_PORT: /,
    );
  });
});

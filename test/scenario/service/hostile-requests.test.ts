import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import * as v from "valibot";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import { ContractProblem, ContractResult } from "../../support/contract.ts";
import fc from "../../support/properties.ts";
import { connect, exchange, type RawReply } from "../../support/raw-http.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";

/** Whatever bytes a client sends, it gets a clear answer, and no mail server gets more than an address. */
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let port: number;

before(async () => {
  deployment = await createDeployment();
  api = await deployment.startApi();
  team = await deployment.team("enterprise");
  port = Number(new URL(api.url).port);
});
after(() => deployment.stop());
beforeEach(() => deployment.world.resetCounters());

/** Sends the query as it stands, each character a byte. */
async function get(query: string, ...fields: string[]): Promise<RawReply> {
  const authorization = `Authorization: Bearer ${team.liveKey}`;
  return exchange(port, [`GET /v1/verify${query} HTTP/1.1`, authorization, ...fields]);
}

/** 200 with a result of the contract, or a client's error with a problem of the contract; never a fault of ours. */
function assertClear(reply: RawReply): Record<string, unknown> {
  const body = reply.json();
  if (reply.status === 200) v.assert(ContractResult, body);
  else {
    assert.ok(reply.status >= 400 && reply.status < 500, `${reply.status} ${reply.body}`);
    assert.equal(reply.headers["content-type"], "application/problem+json");
    v.assert(ContractProblem, body);
    assert.equal(body.status, reply.status);
  }
  assert.notEqual(body.reason, "internal_error");
  return body;
}

const COMMAND =
  /^(?:(?:EHLO|HELO) probe\.rcpt\.test|STARTTLS|MAIL FROM:<>(?: SMTPUTF8)?|RCPT TO:<(?:"(?:[^"\\\p{Cc}]|\\[^\p{Cc}])+"|[^<>"@\s\p{Cc}]+)@[a-z0-9.-]+>|RSET|QUIT)$/u;

/**
 * Recipients that all servers of the world were asked about; every line that they got must be a whole command of ours.
 */
function recipientsNamed(): string[] {
  const lines = deployment.world.hosts().flatMap(({ name, account }) => {
    assert.deepEqual([account.malformed, account.outOfTurn], [0, 0], name);
    for (const { line } of account.commands) assert.match(line, COMMAND, name);
    return account.commands.map(({ line }) => line);
  });
  return lines.filter((line) => line.startsWith("RCPT "));
}

const encoded = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

describe("an email parameter", () => {
  const INVALID = [200, "invalid_format"] as const;
  /** An address is read out of it: what stands around it goes nowhere. */
  const READ = [200, "accepted_mailbox"] as const;
  const REFUSED = [400, "validation_failed"] as const;
  const BROKEN = [400, "bad_request"] as const;
  const cases: [what: string, query: string, answer: readonly [status: number, reasonOrCode: string]][] = [
    [
      "with an SMTP command behind CR LF",
      "?email=exists@plain.test%0D%0ARCPT%20TO:%3Cexists@plain.test%3E",
      READ,
    ],
    ["with CR LF in the local part", "?email=a%0D%0AQUIT%0D%0A@plain.test", INVALID],
    ["with CR LF within quotes", "?email=%22a%0D%0Ab%22@plain.test", INVALID],
    ["that ends with a line feed", "?email=exists@plain.test%0A", READ],
    ["that begins with a carriage return", "?email=%0Dexists@plain.test", READ],
    ["with NUL", "?email=exists%00@plain.test", INVALID],
    ["with NUL at its end", "?email=exists@plain.test%00", READ],
    ["with NEL, a C1 control", "?email=a%C2%85b@utf8.test", INVALID],
    ["with a line separator of Unicode", "?email=a%E2%80%A8exists@plain.test", READ],
    ["with angle brackets", "?email=exists@plain.test%3E%20NOTIFY=NEVER", READ],
    ["that is a source route", "?email=@trap.test:exists@plain.test", INVALID],
    ["encoded twice", "?email=exists%2540plain.test", INVALID],
    ["of 320 bytes", `?email=${"a".repeat(320)}`, INVALID],
    ["of 321 bytes", `?email=${"a".repeat(321)}`, REFUSED],
    ["of 160 two-byte characters", `?email=${"%C3%A4".repeat(160)}`, INVALID],
    ["of 161 two-byte characters", `?email=${"%C3%A4".repeat(161)}`, REFUSED],
    ["that is empty", "?email=", REFUSED],
    ["without a value", "?email", REFUSED],
    ["that is missing", "", REFUSED],
    ["given twice", "?email=exists@plain.test&email=exists@plain.test", REFUSED],
    ["given twice, once in disguise", "?email=exists@plain.test&%65mail=missing@plain.test", REFUSED],
    ["given as a list", "?email[]=exists@plain.test", REFUSED],
    ["in capitals", "?EMAIL=exists@plain.test", REFUSED],
    ["beside __proto__", "?email=exists@plain.test&__proto__=1", REFUSED],
    ["beside a refresh that is no boolean", "?email=exists@plain.test&refresh=maybe", REFUSED],
    ["with half an escape", "?email=exists@plain.test%4", BROKEN],
    ["with an escape that is none", "?email=exists%zz@plain.test", BROKEN],
    ["with overlong UTF-8", "?email=exists%C0%80@plain.test", BROKEN],
    ["with a surrogate in UTF-8", "?email=%ED%A0%80@plain.test", BROKEN],
    ["in Latin-1, encoded", "?email=j%FCrgen@utf8.test", BROKEN],
    ["in Latin-1, as it stands", "?email=j\xFCrgen@utf8.test", BROKEN],
    ["in UTF-8, as it stands", "?email=j\xC3\xBCrgen@utf8.test", [200, "accepted_mailbox"]],
    ["under an encoded name", "?%65mail=exists@plain.test", [200, "accepted_mailbox"]],
    [
      "encoded to the last letter",
      `?email=${encoded(Buffer.from("exists-encoded@plain.test"))}`,
      [200, "accepted_mailbox"],
    ],
  ];

  for (const [what, query, [status, reasonOrCode]] of cases) {
    it(`${what}: ${status} ${reasonOrCode}`, async () => {
      const reply = await get(query);
      const body = assertClear(reply);
      assert.deepEqual([reply.status, body.reason ?? body.code], [status, reasonOrCode]);
      const named = recipientsNamed();
      if (reasonOrCode !== "accepted_mailbox") assert.deepEqual(named, []);
    });
  }

  for (const [what, bytes] of [
    ["CR LF", "exists@plain.test\r\nRCPT TO:<exists@plain.test>"],
    ["NUL", "exists\0@plain.test"],
    ["a space", "exists @plain.test"],
  ] as const) {
    it(`with ${what} as it stands is no HTTP: refused, and nothing is asked`, async () => {
      const client = connect(port);
      client.send(
        `GET /v1/verify?email=${bytes} HTTP/1.1\r\nAuthorization: Bearer ${team.liveKey}\r\nHost: a\r\n\r\n`,
      );
      // The uWebSockets.js for Node.js 24 closes without an answer where a line is malformed.
      assert.match(await client.closed(), /^(?:HTTP\/1\.1 (?:400|505) .*)?$/s);
      assert.deepEqual(recipientsNamed(), []);
    });
  }
});

/** Domains whose servers are asked: one is a catch-all, one supports UTF-8, one is ordinary. */
const domain = fc.constantFrom("plain.test", "utf8.test", "catchall.test");
const awkward = fc.constantFrom(
  ...["\r\n", "\n", "\r", "\0", "\t", " ", "\x7f", "\x85", "\u2028", "\u202e", "\ufeff", "\u00ad", "\ufffd"],
  ...["@", '"', "\\", "<", ">", "(", ")", ",", ":", ";", "%", "%0d%0a", "+", ".", "..", "=", "&", "#", "?"],
  ...["ä", "ﬁ", "İ", "ß", "\u0301", "漢", "𝒶", "\r\nRCPT TO:<exists@plain.test>\r\n", "\r\n.\r\nQUIT\r\n"],
);
const piece = fc.oneof(
  fc.constantFrom("a", "exists", "b-c", "7"),
  awkward,
  fc.string({ unit: "binary", maxLength: 4 }),
);
const pieces = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(""));
const text = fc.oneof(
  fc.tuple(pieces, domain).map(([local, name]) => `${local}@${name}`),
  fc.tuple(pieces, domain).map(([local, name]) => `"${local.replace(/["\\]/g, "\\$&")}"@${name}`),
  fc.tuple(pieces, awkward, domain).map(([local, odd, name]) => `${local}@${odd}${name}`),
  fc.tuple(pieces, awkward, domain).map(([local, odd, name]) => `${local}@${name}${odd}`),
  fc.string({ unit: "binary", maxLength: 340 }),
);
/** Characters that HTTP allows in a target as they are, and that end neither the parameter nor an escape. */
const mayStandRaw = (char: string) => /[^\0-\x20\x7f%&#+]/.test(char);
/** Encodes each of `parts`, strings of bytes, where it must be, or where the pattern says so. */
const partlyEncoded = (parts: Buffer[], mixed: readonly boolean[]) =>
  parts
    .map((bytes, i) => {
      const raw = bytes.toString("latin1");
      return mixed[i % mixed.length] && [...raw].every(mayStandRaw) ? raw : encoded(bytes);
    })
    .join("");
const pattern = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });

const RUNS = 400;
const NO_ADDRESS: ReadonlySet<string> = new Set(["invalid_format", "several_addresses", "empty"]);

describe("any email parameter at all", () => {
  it("that is text, however encoded: 400 for its length alone, else a result; controls never pass", async () => {
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(text, pattern, async (email, mixed) => {
        // Half of a surrogate pair has no UTF-8 encoding, so the text is read back from its bytes.
        const bytes = Buffer.from(email);
        const characters = [...bytes.toString()].map((character) => Buffer.from(character));
        const reply = await get(`?email=${partlyEncoded(characters, mixed)}`);
        const body = assertClear(reply);
        // The front replaces invalid UTF-8 by this character, so a request that contains it is refused too.
        if (reply.status === 400 && email.includes("\ufffd")) return;
        assert.equal(reply.status, bytes.length === 0 || bytes.length > 320 ? 400 : 200);
        if (reply.status === 200 && !NO_ADDRESS.has(String(body.reason)))
          assert.doesNotMatch(String(body.email), /\p{Cc}/u);
        if (recipientsNamed().length > 0) asked++;
        deployment.world.resetCounters();
      }),
      { numRuns: RUNS },
    );
    assert.ok(asked > 0, "not one address was asked about: this test shows nothing");
  });

  it("that is bytes: never a fault of ours, and nothing in a command but what is UTF-8", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 330 }),
          fc
            .tuple(fc.uint8Array({ minLength: 1, maxLength: 12 }), domain)
            .map(([local, name]) => Buffer.concat([local, Buffer.from(`@${name}`)])),
        ),
        pattern,
        async (bytes, mixed) => {
          deployment.world.resetCounters();
          const parts = Array.from(bytes, (byte) => Buffer.of(byte));
          const reply = await get(`?email=${partlyEncoded(parts, mixed)}`);
          assertClear(reply);
          const isUtf8 = Buffer.from(bytes).equals(Buffer.from(Buffer.from(bytes).toString()));
          if (!isUtf8) {
            assert.equal(reply.status, 400);
            assert.deepEqual(recipientsNamed(), []);
          }
          recipientsNamed();
        },
      ),
      { numRuns: RUNS },
    );
  });

  it("that is a query, not even a parameter: never a fault of ours", async () => {
    const query = fc.array(
      fc.oneof(fc.constantFrom("email", "=", "&", "refresh", "true", "%", "exists@plain.test"), fc.string()),
    );
    await fc.assert(
      fc.asyncProperty(query, async (parts) => {
        const raw = Buffer.from(parts.join(""))
          .toString("latin1")
          .replaceAll(/[\x00-\x20\x7f]/g, "");
        assertClear(await get(`?${raw}`));
        recipientsNamed();
      }),
      { numRuns: RUNS },
    );
  });
});

describe("a credential", () => {
  const otherLetter = (key: string, at: number) =>
    key.slice(0, at) + (key[at] === "x" ? "y" : "x") + key.slice(at + 1);
  const cases: [what: string, ...lines: ((team: Team) => string)[]][] = [
    ["that is missing"],
    ["of 10 kB", () => `Bearer ${"a".repeat(10_000)}`],
    ["of 10 kB that begins like one", ({ liveKey }) => `Bearer ${liveKey}${"a".repeat(10_000)}`],
    ["of 8 kB behind the prefix of one", () => `Bearer rcpt_live_${"a".repeat(8_000)}`],
    ["that is binary", () => "Bearer \x80\xff\xfe\xc0\x80"],
    ["of another scheme", ({ liveKey }) => `Basic ${liveKey}`],
    ["of the scheme Basic", ({ liveKey }) => `Basic ${Buffer.from(`${liveKey}:`).toString("base64")}`],
    ["without a scheme", ({ liveKey }) => liveKey],
    ["that is a scheme alone", () => "Bearer"],
    ["that is empty", () => ""],
    ["that is a key of no team", () => `Bearer ${newSecret("live")}`],
    ["that is no session", () => `Bearer ${newSecret("sess")}`],
    ["with a wrong checksum", ({ liveKey }) => `Bearer ${otherLetter(liveKey, liveKey.length - 1)}`],
    ["of one letter's difference", ({ liveKey }) => `Bearer ${otherLetter(liveKey, 20)}`],
    ["of another kind", ({ liveKey }) => `Bearer ${liveKey.replace("_live_", "_test_")}`],
    ["in lower case", ({ liveKey }) => `Bearer ${liveKey.toLowerCase()}`],
    ["in capitals", ({ liveKey }) => `Bearer ${liveKey.toUpperCase()}`],
    ["cut short", ({ liveKey }) => `Bearer ${liveKey.slice(0, -1)}`],
    ["that goes on", ({ liveKey }) => `Bearer ${liveKey}0`],
    ["given twice in a field", ({ liveKey }) => `Bearer ${liveKey}, Bearer ${liveKey}`],
    ["beside another in a field", ({ liveKey, testKey }) => `Bearer ${liveKey} ${testKey}`],
    ["in a second field", () => "Bearer nonsense", ({ liveKey }) => `Bearer ${liveKey}`],
    ["behind another in one field", ({ liveKey }) => `Bearer nonsense, Bearer ${liveKey}`],
    ["with a command for the database", () => `Bearer rcpt_live_' or '1'='1${"a".repeat(21)}`],
  ];

  for (const [what, ...lines] of cases) {
    it(`${what} is a 401`, async () => {
      const reply = await exchange(port, [
        "GET /v1/verify?email=exists@plain.test HTTP/1.1",
        ...lines.map((line) => `Authorization: ${line(team)}`),
      ]);
      assert.equal(reply.status, 401);
      assert.equal(assertClear(reply).code, "unauthorized");
      assert.match(reply.headers["www-authenticate"] ?? "", /^Bearer\b/);
      assert.equal(reply.headers.ratelimit, undefined);
      assert.doesNotMatch(reply.body, /rcpt_(live|test|sess)_/);
      assert.ok(!reply.body.includes(team.liveKey.slice(15)), "the credential is repeated");
      assert.deepEqual(recipientsNamed(), []);
    });
  }

  it("that differs in any one letter is a 401", async () => {
    const first = "rcpt_live_".length;
    for (let at = first; at < team.liveKey.length; at++) {
      const answer = await api.verify(otherLetter(team.liveKey, at), "exists@plain.test");
      assert.equal(answer.status, 401, `letter ${at}`);
    }
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import { ContractProblem } from "../../support/contract.ts";
import { newClient, newEmail, PASSWORD, register, usePortal } from "../../support/portal.ts";
import fc from "../../support/properties.ts";
import { until } from "../../support/until.ts";

/**
 * Whatever is sent to the routes of accounts, with or without a membership, the answer is clear and not a fault of
 * ours.
 */
const portal = usePortal();
const hostileText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.emailAddress(),
  fc.constantFrom(
    "",
    "\0",
    "\ud800",
    "a\r\nBcc: b@example.com",
    '"a\\"b"@example.com',
    "ä@münchen.example",
    "a@xn--mnchen-3ya.example",
    `${"a".repeat(64)}@${"b".repeat(60)}.${"c".repeat(60)}.example`,
    "'; drop table users; --@example.com",
    "x".repeat(5_000),
    "\ufdfa".repeat(200),
    PASSWORD,
    newSecret("inv"),
    newSecret("pwr"),
  ),
);
const hostileValue = fc.oneof({ weight: 4, arbitrary: hostileText }, fc.jsonValue(), fc.constant(undefined));

/** Bodies with the fields of the route, mostly of the right type, and at times one more. */
function bodies(...fields: string[]): fc.Arbitrary<unknown> {
  const record = Object.fromEntries(fields.map((field) => [field, hostileValue]));
  return fc.oneof(
    { weight: 9, arbitrary: fc.record(record) },
    fc.record({ ...record, surplus: fc.jsonValue() }),
    fc.jsonValue(),
  );
}

const ROUTES: [path: string, fields: string[], who: "a stranger" | "a member"][] = [
  ["/v1/auth/register", ["email", "password", "team_name"], "a stranger"],
  ["/v1/auth/register/confirm", ["token", "password"], "a stranger"],
  ["/v1/auth/login", ["email", "password", "team_id"], "a stranger"],
  ["/v1/auth/password-reset", ["email"], "a stranger"],
  ["/v1/auth/password-reset/confirm", ["token", "new_password"], "a stranger"],
  ["/v1/auth/accept-invite", ["token", "password"], "a stranger"],
  ["/v1/auth/accept-invite", ["token", "password"], "a member"],
  ["/v1/auth/password", ["current_password", "new_password"], "a member"],
  ["/v1/team/invites", ["email", "role"], "a member"],
];

describe("hostile bodies", () => {
  for (const [path, fields, who] of ROUTES) {
    it(`of ${who} to ${path} get a clear answer`, async () => {
      const key =
        who === "a member" ? (await register(portal.unmailed, newEmail())).body.session.token : undefined;
      await fc.assert(
        fc.asyncProperty(bodies(...fields), async (body) => {
          const { status, body: answer } = await portal.one.send("POST", path, {
            body: JSON.stringify(body) ?? "",
            headers: newClient(),
            ...(key === undefined ? {} : { key }),
          });
          assert.ok(status < 500, `${status} ${JSON.stringify(answer)}`);
          if (status >= 400) v.assert(ContractProblem, answer);
          // A team may have any name, and the answer repeats it.
          if (status < 400 && path === "/v1/auth/register") return;
          // No other answer repeats the input.
          assert.doesNotMatch(JSON.stringify(answer), /drop table|Bcc/);
        }),
        { numRuns: 60 },
      );
    });
  }

  it("made no mail with a second recipient", async () => {
    const { body } = await register(portal.unmailed, newEmail());
    const invite = (email: string) =>
      portal.one.send("POST", "/v1/team/invites", { key: body.session.token, body: { email } });
    const hostile = [
      '"a> RCPT TO:<b"@example.com',
      '"x@example.com, other"@example.com',
      "a%b!c@example.com",
    ];
    for (const email of hostile) assert.equal((await invite(email)).status, 201, email);
    await invite("plain@example.com");
    await until("the mails have come", async () => {
      const [row] = await portal.deployment.sql<[{ count: number }]>`select count(*)::int from mail_outbox`;
      return row.count === 0;
    });
    assert.equal(portal.sink.to("plain@example.com").length, 1);
    assert.ok(portal.sink.mails.length > hostile.length, `${portal.sink.mails.length}`);
    for (const mail of portal.sink.mails) {
      assert.equal(mail.to.length, 1);
      assert.equal(mail.headers.has("bcc"), false);
    }
  });
});

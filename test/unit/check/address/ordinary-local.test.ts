import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOrdinaryLocal } from "../../../../src/check/address/ordinary-local.ts";
import { compileLists, openLists } from "../../../../src/check/lists/lists.ts";
import { openRoleHints } from "../../../../src/check/lists/role-hints.ts";
import { OWN_ROLES } from "../../../../src/check/lists/roles.ts";
import { tagOf } from "../../../../src/check/mailbox/normal-form.ts";
import { localSignals, PLAIN_LOCAL } from "../../../../src/check/verdict/reputation.ts";
import fc from "../../../support/properties.ts";

const compiled = compileLists();
const lists = openLists(compiled);
const mayBeRole = openRoleHints(compiled.roleHints);

/** Between other bytes. */
function isOrdinary(local: string): boolean {
  return isOrdinaryLocal(Buffer.from(`x${local}@one.test`), 1, 1 + local.length, mayBeRole);
}

/** As `kindOfCell` lets it pass. */
const SHAPE = /^[A-Za-z0-9][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9_+-]+)*$/;
const word = fc.oneof(
  fc.constantFrom(
    ...OWN_ROLES,
    "info",
    "sales",
    "no",
    "reply",
    "postmaster",
    "owner",
    "request",
    "Info",
    "jane",
  ),
  fc.stringMatching(/^[a-z]{1,9}$/),
  fc.stringMatching(/^[A-Za-z0-9]{1,24}$/),
  fc.stringMatching(/^[0-9]{1,6}$/),
  fc.stringMatching(/^[bcdfgxz]{8,16}$/),
);
const local = fc
  .array(fc.tuple(word, fc.constantFrom("", "", ".", "_", "-", "+")), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.flat().slice(0, -1).join("").slice(0, 64))
  .filter((text) => SHAPE.test(text));

describe("a local part that is ordinary by its bytes", () => {
  it("is no role, has no signal and no tag, and is in lower case, whatever it is made of", () => {
    let ordinary = 0;
    fc.assert(
      fc.property(local, (text) => {
        if (!isOrdinary(text)) return;
        ordinary += 1;
        assert.equal(lists.role(text), null);
        assert.equal(localSignals(text), PLAIN_LOCAL);
        assert.equal(tagOf({ local: text, name: { mailboxes: null } }), null);
        assert.equal(text, text.toLowerCase());
      }),
      { numRuns: 10_000 },
    );
    assert.ok(ordinary > 1_000, `${ordinary} were ordinary`);
  });

  it("is what people have, and none that is told apart by more than its bytes", () => {
    for (const text of ["customer.4001.123456", "mary.smith", "j_doe1984", "tom", "x", "krzysztof"])
      assert.equal(isOrdinary(text), true, text);
    for (const text of [
      "Mary.Smith",
      "krzysztof+news",
      "12345",
      "x9k2q7w4z8p1v6",
      "info",
      "no.reply",
      "NoReply+x",
      "list-request",
      "bcdfghklmnpqr",
    ])
      assert.equal(isOrdinary(text), false, text);
  });
});

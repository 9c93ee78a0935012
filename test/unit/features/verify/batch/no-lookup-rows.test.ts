import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  answerWithoutLookup,
  createExaminer,
  type ExaminerDeps,
} from "../../../../../src/features/verify/answer/examine.ts";
import { createNoLookupRows } from "../../../../../src/features/verify/batch/no-lookup-rows.ts";
import { compileLists, openLists } from "../../../../../src/verification/lists/lists.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import fc from "../../../../support/properties.ts";

const clock = createFakeClock();
const lists = openLists(compileLists());
const examiner = createExaminer({ clock, isPromoted: () => false } as unknown as ExaminerDeps);
const overlay = { isBlocked: () => true, isDisposable: () => false };
const asker = { teamId: "team_1", probing: true, overlay };
const questionOf = (email: string) => examiner.understand(email, false, asker);

describe("rows that need not be asked about", () => {
  it("are found as single ones are, whatever came before", () => {
    const domains = ["one.test", "two.test", "gmail.com", "yopmail.com", "mail.yopmail.com", "free.tk"];
    // Names that are too long to be remembered.
    const { domainNameChars } = LIMITS.check;
    domains.push(
      `${"long.".repeat(domainNameChars / 5)}test`,
      `${"l.".repeat(domainNameChars / 2)}yopmail.com`,
    );
    const email = fc.oneof(
      fc
        .tuple(fc.constantFrom("jane", "info", "sales", "postmaster", "x1"), fc.constantFrom(...domains))
        .map(([local, domain]) => `${local}@${domain}`),
      fc.constantFrom("nobody", "a@"),
    );
    const check = (emails: string[]) => {
      const unasked = createNoLookupRows({ clock, lists });
      for (const one of emails) {
        const question = questionOf(one);
        const wanted = answerWithoutLookup({ clock, lists }, question);
        assert.deepEqual(unasked.find(question), wanted);
      }
    };
    fc.assert(fc.property(fc.array(email, { minLength: 20, maxLength: 60 }), check));
  });

  it("have one object in common where the lists say the same", () => {
    const unasked = createNoLookupRows({ clock, lists });
    const evidenceOf = (email: string) => unasked.find(questionOf(email)).entry?.evidence;
    const plain = evidenceOf("jane@one.test");
    assert.ok(plain);
    assert.equal(evidenceOf("joe@two.test"), plain);
    assert.notEqual(evidenceOf("info@two.test"), plain);
    assert.notEqual(evidenceOf("joe@gmail.com"), plain);
    assert.equal(evidenceOf("joe@two.test"), plain);
  });
});

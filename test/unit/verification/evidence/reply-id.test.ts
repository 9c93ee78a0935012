import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasOwnId } from "../../../../src/verification/evidence/reply-id.ts";

describe("a reply", () => {
  it("has an id of its own where a word of it is none that is said again", () => {
    for (const reply of [
      "2.1.5 OK d9443c01a7336-1a2b3c4d5e6si1234567a12.345 - gsmtp",
      "5.4.1 Recipient address rejected: Access denied. [DB5EUR03FT003.eop-EUR03.prod.protection.outlook.com 2026-11-27T10:00:00.000Z 08DC0AB1C2D3E4F5]",
      "2.0.0 accepted for delivery 4Yx1Zz0abcz9vXW",
      "ok 1732701234 qp 4711",
    ])
      assert.ok(hasOwnId(reply), reply);
    for (const reply of [
      ...["", "2.1.5 Ok", "5.1.1 <…>: Recipient address rejected: User unknown in virtual mailbox table"],
      "5.7.1 Service unavailable; Client host [203.0.113.255] blocked using zen.example",
      "5.1.1 No such user, see https://support.example.com/mail/answer/6596",
      "Requested mail action okay, completed (S3150)",
      "sorry, no mailbox here by that name (#5.1.1 - chkuser)",
    ])
      assert.ok(!hasOwnId(reply), reply);
  });
});

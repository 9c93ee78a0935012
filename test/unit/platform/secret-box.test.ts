import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { createSecretBox, SecretBoxError } from "../../../src/platform/secret-box.ts";
import fc from "../../support/properties.ts";

const CONTEXT = "webhooks.secret:wh_1";
const key = Buffer.alloc(32, 1);
const box = createSecretBox(key);

describe("the secret box", () => {
  it("opens what it sealed, in another process with the same key", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), (text, context) => {
        assert.equal(createSecretBox(Buffer.from(key)).open(box.seal(text, context), context), text);
      }),
    );
  });

  it("seals the same text differently each time, and shows nothing of it but its length", () => {
    const text = "whsec_topsecret";
    const [one, two] = [box.seal(text, CONTEXT), box.seal(text, CONTEXT)];
    assert.notDeepEqual(one, two);
    assert.equal(one.length, two.length);
    assert.equal(one.includes(Buffer.from("topsecret")), false);
  });

  it("opens nothing for another place, nor with another key", () => {
    const sealed = box.seal("text", CONTEXT);
    assert.throws(() => box.open(sealed, "webhooks.secret:wh_2"), SecretBoxError);
    assert.throws(() => createSecretBox(randomBytes(32)).open(sealed, CONTEXT), SecretBoxError);
  });

  it("opens nothing that was changed by a bit", () => {
    const sealed = box.seal("some text of some length", CONTEXT);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      assert.throws(() => box.open(changed, CONTEXT), SecretBoxError, `bit ${bit}`);
    }
  });

  it("opens nothing that was truncated or sealed elsewhere, and does not reveal it", () => {
    const sealed = box.seal("some text", CONTEXT);
    for (let length = 0; length < sealed.length; length++)
      assert.throws(() => box.open(sealed.subarray(0, length), CONTEXT), SecretBoxError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        assert.throws(() => box.open(bytes, CONTEXT), SecretBoxError);
      }),
    );
  });

  it("takes no key of another length", () => {
    for (const length of [0, 16, 31, 33, 64])
      assert.throws(() => createSecretBox(Buffer.alloc(length)), RangeError);
  });
});

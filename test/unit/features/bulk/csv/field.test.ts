import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toText } from "../../../../../src/features/bulk/csv/field.ts";

describe("a value's text", () => {
  it("is its bytes read as UTF-8", () => {
    for (const text of ["jo@example.com", "jörg@exämple.de", "почта@пример.рф", "😀", "\ufffd", ""]) {
      assert.equal(toText(Buffer.from(text).toString("latin1")), text);
    }
  });

  it("is windows-1252 where the bytes are no UTF-8", () => {
    assert.equal(toText("J\xf6rg \x80 \x93Zo\xe9\x94"), "Jörg € “Zoé”");
    // A whole character of UTF-8 and one that is not: the value is of one encoding.
    assert.equal(toText("\xc3\xb6 \xe9"), "Ã¶ é");
    assert.equal(toText("\xc3"), "Ã");
  });

  it("loses no byte, and has U+FFFD of none", () => {
    const high = Array.from({ length: 128 }, (_, i) => 0x80 + i);
    const texts = high.map((byte) => toText(String.fromCharCode(byte)));
    assert.equal(new Set(texts).size, high.length);
    assert.ok(!texts.includes("\ufffd"));
    const defined = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ";
    const controls = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
    const named = high.filter((byte) => byte < 0xa0 && !controls.includes(byte));
    assert.equal(named.map((byte) => toText(String.fromCharCode(byte))).join(""), defined);
    for (const byte of [...controls, ...high.filter((above) => above >= 0xa0)])
      assert.equal(toText(String.fromCharCode(byte)), String.fromCharCode(byte));
  });
});

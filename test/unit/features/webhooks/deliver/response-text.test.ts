import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  createResponseBeginning,
  readResponseText,
} from "../../../../../src/features/webhooks/deliver/response-text.ts";
import fc from "../../../../support/properties.ts";

const { responseBodyKeptBytes } = LIMITS.webhooks;

describe("the text of a response", () => {
  it("is what is UTF-8 in it, with its lines and tabs", () => {
    const text = '{"error":\t"Größe 😀"}\nnext line';
    assert.equal(readResponseText(Buffer.from(text)), text);
    assert.equal(
      readResponseText(Buffer.from("\ufeffwith a mark of the byte order")),
      "with a mark of the byte order",
    );
  });

  it("has no control characters and no bytes of anything else", () => {
    assert.equal(readResponseText(Buffer.from("a\0b\r\nc\x1b[31md\x7fe\u0085f")), "ab\nc[31mdef");
    assert.equal(
      readResponseText(Buffer.from([0x61, 0xff, 0xc3, 0x62, 0xed, 0xa0, 0x80, 0xf8, 0x63])),
      "abc",
    );
    assert.equal(readResponseText(Buffer.alloc(100)), "");
  });

  it("is text that PostgreSQL takes, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = readResponseText(bytes);
        assert.ok(
          Buffer.from(text).toString() === text && !/(?![\t\n])\p{Cc}/u.test(text),
          JSON.stringify(text),
        );
      }),
    );
  });

  it("ends after the bytes that are kept, before a character that is cut there", () => {
    const beginning = createResponseBeginning();
    beginning.add(Buffer.from("a".repeat(responseBodyKeptBytes - 2)));
    beginning.add(Buffer.from("é€"));
    beginning.add(Buffer.from("more"));
    assert.equal(beginning.text(), `${"a".repeat(responseBodyKeptBytes - 2)}é`);
    const split = createResponseBeginning();
    for (const byte of Buffer.from("😀")) split.add(Uint8Array.of(byte));
    assert.equal(split.text(), "😀");
  });
});

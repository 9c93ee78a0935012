import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRequestIds, saneRequestId } from "../../../../src/api/request/request-id.ts";

describe("request ids", () => {
  it("are unique, sorted and shaped like every other id", () => {
    const { take, text } = createRequestIds();
    const ids = Array.from({ length: 5_000 }, () => text(take()));
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual([...ids].sort(), ids);
    for (const id of ids) assert.match(id, /^req_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it("are the same as characters and as bytes", () => {
    const made = createRequestIds();
    const bytes = Buffer.alloc(made.length + 2, "-");
    for (let i = 0; i < 2_000; i++) {
      const number = made.take();
      made.write(number, bytes, 1);
      assert.equal(bytes.toString(), `-${made.text(number)}-`);
    }
  });

  it("leave what cannot differ where it was written before", () => {
    const made = createRequestIds();
    const [one, other] = [Buffer.alloc(made.length, "-"), Buffer.alloc(made.length, "-")];
    const [first, second, third] = [made.take(), made.take(), made.take()];
    const since = made.write(first, one, 0);
    made.write(second, other, 0);
    assert.equal(made.write(third, one, 0, since), since);
    assert.equal(one.toString(), made.text(third));
    assert.equal(other.toString(), made.text(second));
    // With foreign bytes, or none, before: the whole id is written.
    one.fill("-");
    made.write(first, one, 0, since + 1);
    assert.equal(one.toString(), made.text(first));
  });

  it("differ between processes", () => {
    const [one, other] = [createRequestIds(), createRequestIds()];
    assert.notEqual(one.text(one.take()), other.text(other.take()));
  });

  it("are taken from the caller only when they cannot break a log or a header", () => {
    assert.equal(saneRequestId("A-z_0.9"), "A-z_0.9");
    for (const id of ["", "a b", "a\r\nb", "a\nb\n", "a\n", "ä", "a".repeat(129)])
      assert.equal(saneRequestId(id), null);
  });
});

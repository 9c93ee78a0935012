import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRequestIds, saneRequestId } from "../../../src/http/request-id.ts";

describe("request ids", () => {
  it("are unique, sorted and shaped like every other id", () => {
    const { next } = createRequestIds();
    const ids = Array.from({ length: 5_000 }, () => next());
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual([...ids].sort(), ids);
    for (const id of ids) assert.match(id, /^req_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it("are the same sequence as characters and as bytes", () => {
    const made = createRequestIds();
    const ids: string[] = [made.next()];
    const bytes = Buffer.alloc(made.length + 2, "-");
    for (let i = 0; i < 2_000; i++) {
      made.write(bytes, 1);
      assert.equal(bytes.toString(), `-${made.last()}-`);
      ids.push(made.last(), made.next());
    }
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual([...ids].sort(), ids);
  });

  it("leave what cannot differ where it was written before", () => {
    const made = createRequestIds();
    const [one, other] = [Buffer.alloc(made.length, "-"), Buffer.alloc(made.length, "-")];
    const since = made.write(one, 0);
    made.write(other, 0);
    assert.equal(made.write(one, 0, since), since);
    assert.equal(one.toString(), made.last());
    assert.notEqual(other.toString(), made.last());
    // Somebody else's bytes, or none: all of it is written.
    one.fill("-");
    made.write(one, 0, since + 1);
    assert.equal(one.toString(), made.last());
  });

  it("differ between processes", () => {
    assert.notEqual(createRequestIds().next(), createRequestIds().next());
  });

  it("are taken from the caller only when they cannot break a log or a header", () => {
    assert.equal(saneRequestId("A-z_0.9"), "A-z_0.9");
    for (const id of ["", "a b", "a\r\nb", "a\nb\n", "a\n", "ä", "a".repeat(129)])
      assert.equal(saneRequestId(id), null);
  });
});

import assert from "node:assert/strict";
import { it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { partsOf } from "../../../../src/features/uploads/parts.ts";
import fc from "../../../support/properties.ts";

const { singleBytes, parts: most } = LIMITS.uploads;
const S3_PART_MIN_BYTES = 5_242_880;
const S3_PART_MAX_BYTES = 5 * 1_073_741_824;

it("cuts what is too large for one request into parts that follow one another and that S3 takes", () => {
  assert.equal(partsOf(0), null);
  assert.equal(partsOf(singleBytes), null);
  fc.assert(
    fc.property(fc.integer({ min: singleBytes + 1, max: 5_000_000_000_000 }), (bytes) => {
      const parts = partsOf(bytes) ?? [];
      assert.ok(parts.length >= 2 && parts.length <= most);
      let next = 0;
      for (const [i, part] of parts.entries()) {
        assert.deepEqual([part.number, part.firstByte], [i + 1, next]);
        assert.ok(part.bytes > 0 && part.bytes <= S3_PART_MAX_BYTES);
        if (i < parts.length - 1)
          assert.ok(part.bytes >= S3_PART_MIN_BYTES && part.bytes === parts[0]?.bytes);
        next += part.bytes;
      }
      assert.equal(next, bytes);
    }),
  );
});

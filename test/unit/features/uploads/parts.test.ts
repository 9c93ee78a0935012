import assert from "node:assert/strict";
import { it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { partsOf, type UploadPart } from "../../../../src/features/uploads/parts.ts";
import fc from "../../../support/properties.ts";

const { singleBytes, parts: most } = LIMITS.uploads;
const MIB = 1_048_576;
const S3_PART_MIN_BYTES = 5_242_880;
const S3_PART_MAX_BYTES = 5 * 1_073_741_824;

function assertSplit(bytes: number, parts: readonly UploadPart[]): void {
  assert.ok(parts.length >= 1 && parts.length <= most);
  let next = 0;
  for (const [i, part] of parts.entries()) {
    assert.deepEqual([part.number, part.firstByte], [i + 1, next]);
    assert.ok(part.bytes > 0 && part.bytes <= S3_PART_MAX_BYTES);
    if (i < parts.length - 1) assert.ok(part.bytes >= S3_PART_MIN_BYTES && part.bytes === parts[0]?.bytes);
    next += part.bytes;
  }
  assert.equal(next, bytes);
}

it("cuts what is too large for one request into parts that follow one another and that S3 takes", () => {
  assert.equal(partsOf(0, null), null);
  assert.equal(partsOf(singleBytes, null), null);
  fc.assert(
    fc.property(fc.integer({ min: singleBytes + 1, max: 5_000_000_000_000 }), (bytes) => {
      const parts = partsOf(bytes, null) ?? [];
      assert.ok(parts.length >= 2);
      assertSplit(bytes, parts);
    }),
  );
});

it("cuts any file into parts of the size that is asked for, or larger ones where they would be too many", () => {
  assert.equal(partsOf(0, S3_PART_MIN_BYTES), null);
  assert.equal(partsOf(1, S3_PART_MIN_BYTES)?.length, 1);
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 1, max: 50_000_000 }), fc.integer({ min: 1, max: 5_000_000_000_000 })),
      fc.integer({ min: S3_PART_MIN_BYTES, max: S3_PART_MAX_BYTES }),
      (bytes, wanted) => {
        const parts = partsOf(bytes, wanted) ?? [];
        assertSplit(bytes, parts);
        const size = parts[0]?.bytes ?? 0;
        if (wanted * most >= bytes) assert.equal(size, Math.min(wanted, bytes));
        else assert.ok(size > wanted && size % MIB === 0 && (size - MIB) * most < bytes);
      },
    ),
  );
});

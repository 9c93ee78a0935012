import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  CSV_HEADER,
  createJoiner,
  csvLine,
  jsonLine,
  readShard,
  type ShardRow,
  writeShard,
} from "../../../../src/services/bulk/shard.ts";
import { createTestKeys } from "../../../../src/services/verify/test-keys.ts";
import type { VerificationResult } from "../../../../src/services/verify/verification-result.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const keys = createTestKeys({ clock: createFakeClock(), slowMs: 0, isPromoted: () => false });
const overlay = { isBlocked: () => false, isDisposable: () => false };

async function resultOf(email: string): Promise<VerificationResult> {
  return keys.answer(email, false, { probing: true, overlay });
}

/** The records of a CSV text by RFC 4180, written to be read beside it. */
function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    record.push(match[1] === undefined ? (match[2] ?? "") : match[1].replaceAll('""', '"'));
    if (match[3] === ",") continue;
    records.push(record);
    record = [];
  }
  return records;
}

describe("the rows of a shard", () => {
  it("come back as they were written, whatever the customer wrote", async () => {
    const result = await resultOf("valid@example.com");
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (inputs) => {
        const rows: ShardRow[] = inputs.map((input, row) => ({ row, input, result }));
        assert.deepEqual(readShard(Buffer.from(writeShard(rows))), rows);
      }),
    );
  });

  it("give repeats the result of the first, across shards; without it they are left out", async () => {
    const [valid, full] = await Promise.all([resultOf("valid@example.com"), resultOf("full@example.com")]);
    const first: ShardRow[] = [
      { row: 0, input: "valid@example.com", copies: 2, result: valid },
      { row: 1, input: "full@example.com", result: full },
      { row: 2, input: "valid@EXAMPLE.com", same_as: 0 },
    ];
    const second: ShardRow[] = [{ row: 3, input: " valid@example.com", same_as: 0 }];
    const joiner = createJoiner();
    const joined = [...joiner.join(first), ...joiner.join(second)];
    assert.deepEqual(
      joined.map(({ row, duplicateOf, result }) => [row, duplicateOf, result.verdict]),
      [
        [0, null, "valid"],
        [1, null, "risky"],
        [2, 0, "valid"],
        [3, 0, "valid"],
      ],
    );
    assert.deepEqual(createJoiner().join(second), []);
  });
});

describe("results", () => {
  it("as JSONL say where a row stood, counted from 1", async () => {
    const result = await resultOf("valid@example.com");
    const line = JSON.parse(jsonLine({ row: 4, input: " valid@example.com", duplicateOf: 0, result }));
    assert.deepEqual(line, { row: 5, input: " valid@example.com", duplicate_of: 1, ...result });
  });

  it("as CSV have the columns of the API, and quote what must be quoted", async () => {
    const result = await resultOf("role@example.com");
    assert.deepEqual(parseCsv(CSV_HEADER)[0]?.slice(0, 3), ["email", "rcpt_verdict", "rcpt_reason"]);
    assert.deepEqual(parseCsv(csvLine({ row: 0, input: 'a "b", c', duplicateOf: null, result })), [
      [
        'a "b", c',
        "risky",
        "role_address",
        String(result.risk_score),
        "role@example.com",
        "",
        "refused",
        "role",
        "false",
        "",
      ],
    ]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (input) => {
        const [record, ...more] = parseCsv(csvLine({ row: 0, input, duplicateOf: null, result }));
        assert.deepEqual([record?.[0], record?.length, more], [input, 10, []]);
      }),
    );
  });
});

import assert from "node:assert/strict";
import { it } from "node:test";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";

/** Properties of scan.test.ts and dialect.test.ts hold the parser to csv-parse. */
it("records are parsed in their order, whatever their widths, but not with an open quote", () => {
  const parsed = parseRecords(Buffer.from('a,"b ""c"",\r\nd"\n\ne\r\n,,f'), { delimiter: "," });
  assert.deepEqual(parsed, [["a", 'b "c",\r\nd'], ["e"], ["", "", "f"]]);
  assert.throws(() => parseRecords(Buffer.from('a\n"b\n'), { delimiter: "," }), /is never closed/);
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { recheckColumn } from "../../../../src/features/bulk/columns/recheck-column.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createPreviewUpload, detectForPreview } from "../../../../src/features/uploads/preview.ts";
import { analysedList } from "../../../support/analysed-list.ts";
import { randomBytes } from "../../../support/open-workbook.ts";

const latin1 = (bytes: string) => Buffer.from(bytes, "latin1");
/** 名前 and メール in Shift_JIS. */
const HEADER = latin1("\x96\xbc\x91\x4f,\x83\x81\x81\x5b\x83\x8b\n");
const row = (email: string) => latin1(`\x93\x63\x92\x86,${email}\n`);

function previewOf(list: Buffer) {
  const preview = createPreviewUpload({
    detect: detectForPreview,
    sources: { find: async () => ({ key: "list", etag: "1", bytes: list.length, filename: "list.csv" }) },
    streams: {
      head: async () => ({ bytes: list.length, etag: "1" }),
      openRead: () => randomBytes(list).open(0, list.length),
      readRange: async () => list,
    },
  });
  const actor = { limits: { bulkBytes: 1e6 } } as Actor;
  return preview(actor, "upl_1", {}, new AbortController().signal);
}

describe("a list in an old encoding", () => {
  it("is previewed with the names of its columns as text", async () => {
    const list = Buffer.concat([HEADER, row("a@ok.test"), row("b@ok.test")]);
    const { layout, header, candidates, rows } = await previewOf(list);
    assert.equal(layout.encoding, "shift_jis");
    assert.deepEqual(header, ["名前", "メール"]);
    assert.deepEqual(
      candidates.map(({ name }) => name),
      ["メール"],
    );
    assert.deepEqual(rows[0], { row: 1, input: "a@ok.test", columns: ["田中", "a@ok.test"] });
  });

  it("has a column that is called e-mail in it, when all rows have been read too", async () => {
    const list = await analysedList(
      Buffer.concat([HEADER, ...Array.from({ length: 30 }, () => row("a@ok.test"))]),
    );
    assert.equal(recheckColumn(list, { addresses: 30, distinct: 1 }), null);
  });
});

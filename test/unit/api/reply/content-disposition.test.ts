import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attachment } from "../../../../src/api/reply/content-disposition.ts";
import { resultFileNames } from "../../../../src/features/bulk/results/file-name.ts";
import fc from "../../../support/properties.ts";

const ID = "job_01h455vb4pex5vsknk084sn02q";
const ALL = { format: "csv", verdict: null, reason: null, provider: null } as const;
const upload = (filename: string) => ({
  id: ID,
  source: { type: "upload", upload_id: "upl_1", filename } as const,
});
describe("Content-Disposition", () => {
  it("has the plain name, and the better one as RFC 8187 encodes it", () => {
    assert.equal(attachment("a.csv", null), 'attachment; filename="a.csv"');
    assert.equal(
      attachment("a.csv", "März (1)'s *.csv"),
      `attachment; filename="a.csv"; filename*=UTF-8''M%C3%A4rz%20%281%29%27s%20%2A.csv`,
    );
  });

  it("is one field of ASCII with two parameters, whatever a list is called and its rows are chosen by", () => {
    const text = fc.string({ unit: "binary", maxLength: 80 });
    fc.assert(
      fc.property(text, text, (filename, provider) => {
        const { plain, ofList } = resultFileNames(upload(filename), { ...ALL, provider });
        const value = attachment(plain, ofList);
        assert.match(value, /^attachment; filename="[\w.-]+"(; filename\*=UTF-8''[\w.!#$&+^`|~%-]+)?$/);
        const [, encoded] = value.split("UTF-8''");
        assert.equal(encoded === undefined ? null : decodeURIComponent(encoded), ofList);
      }),
    );
  });
});

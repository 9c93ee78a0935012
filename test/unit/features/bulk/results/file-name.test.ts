import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultFileNames } from "../../../../../src/features/bulk/results/file-name.ts";

const ID = "job_01h455vb4pex5vsknk084sn02q";
const ALL = { format: "csv", verdict: null, reason: null, provider: null } as const;
const upload = (filename: string) => ({
  id: ID,
  source: { type: "upload", upload_id: "upl_1", filename } as const,
});
const nameOf = (filename: string, wanted: Parameters<typeof resultFileNames>[1] = ALL) =>
  resultFileNames(upload(filename), wanted).ofList;

describe("the name of a file with results", () => {
  it("is that of its list, without path and extensions, and what its rows were chosen by", () => {
    assert.equal(nameOf("customers of spring.csv"), "customers of spring-results.csv");
    assert.equal(
      nameOf("customers.csv.gz", { ...ALL, format: "jsonl", verdict: "valid" }),
      "customers-valid.jsonl",
    );
    assert.equal(nameOf("customers.csv", { ...ALL, provider: "" }), "customers-no_provider.csv");
    const chosen = { ...ALL, verdict: "risky", reason: "catch_all", provider: "google" } as const;
    assert.deepEqual(resultFileNames(upload("März 東京.xlsx"), chosen), {
      plain: `${ID}-risky-catch_all-google.csv`,
      ofList: "März 東京-risky-catch_all-google.csv",
    });
    assert.deepEqual(resultFileNames({ id: ID, source: { type: "inline" } }, ALL), {
      plain: `${ID}.csv`,
      ofList: null,
    });
    const s3 = { id: ID, source: { type: "s3", bucket: "lists", key: "2026/spring/customers.csv" } as const };
    assert.equal(resultFileNames(s3, ALL).ofList, "customers-results.csv");
  });

  it("leads nowhere, hides nothing and turns no text, whatever the list is called", () => {
    assert.equal(nameOf("../../etc/passwd"), "passwd-results.csv");
    assert.equal(nameOf("C:\\Users\\jane\\list.csv"), "list-results.csv");
    assert.equal(nameOf(".bashrc"), "bashrc-results.csv");
    assert.equal(nameOf('a"b\r\nSet-Cookie: x=1\0.csv'), "a b Set-Cookie x=1-results.csv");
    assert.equal(nameOf("invoice\u202efdp.exe.csv"), "invoice fdp.exe-results.csv");
    assert.equal(nameOf("\ud800.csv"), null);
    for (const nameless of ["", ".", "..", "/", "a/", ".csv", '"?*'])
      assert.deepEqual(
        resultFileNames(upload(nameless), ALL),
        { plain: `${ID}.csv`, ofList: null },
        nameless,
      );
    assert.ok(Buffer.byteLength(nameOf(`${"😀".repeat(500)}.csv`) ?? "") <= 255);
    const longest = {
      ...ALL,
      format: "jsonl",
      verdict: "unknown",
      reason: "x".repeat(60),
      provider: "y".repeat(60),
    } as const;
    assert.ok(Buffer.byteLength(nameOf(`${"😀".repeat(500)}.csv`, longest as never) ?? "") <= 255);
    const provider = '"; filename=evil.exe\r\nX: y';
    assert.equal(
      resultFileNames(upload("a.csv"), { ...ALL, provider }).plain,
      `${ID}-_filename_evil_exe_X_y.csv`,
    );
  });
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { fileBodyOf } from "../../../../src/api/body/file-body.ts";
import type { IncomingBody } from "../../../../src/api/body/incoming-body.ts";
import type { HttpRequest } from "../../../../src/api/request/request.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { AppError } from "../../../../src/platform/errors.ts";

type Headers = HttpRequest["headers"];
const LIST = Buffer.from("email\na@ok.test\n");
const FORM = Buffer.from(
  `--b\r\nContent-Disposition: form-data; name="f"; filename="l.csv"\r\n\r\n${LIST}\r\n--b--\r\n`,
);
const FORM_TYPE = "multipart/form-data; boundary=b";
const LIMIT_BYTES = 1_000;

function bodyOf(bytes: Buffer): IncomingBody {
  return {
    declaredBytes: bytes.length,
    async *read(limitBytes, tooLong) {
      if (bytes.length > limitBytes) throw tooLong();
      for (const byte of bytes) yield Buffer.from([byte]);
    },
    mayBringMore: false,
    discard: () => {},
    abandon: () => {},
  };
}

/** The stored bytes, or the code and the sentence of the refusal. */
async function take(headers: Headers, bytes: Buffer = LIST): Promise<string> {
  const pieces: Uint8Array[] = [];
  const tooLong = () => new AppError("bulk_too_large", "too long");
  try {
    const file = fileBodyOf(headers, bodyOf(bytes));
    for await (const piece of file.read(LIMIT_BYTES, tooLong)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const digest = (algorithm: string, bytes: Buffer) => createHash(algorithm).update(bytes).digest("base64");
const sha256 = (bytes: Buffer) => `sha-256=:${digest("sha256", bytes)}:`;
const sha512 = (bytes: Buffer) => `sha-512=:${digest("sha512", bytes)}:`;
const OTHER = Buffer.from("other");

describe("the file that a request brings", () => {
  const taken: [string, Headers, Buffer?][] = [
    ["no header", {}],
    ["any content type", { "content-type": "application/vnd.ms-excel" }],
    ["a form", { "content-type": FORM_TYPE }, FORM],
    ["its Content-MD5", { "content-md5": digest("md5", LIST) }],
    [
      "the Content-MD5 of the whole form",
      { "content-type": FORM_TYPE, "content-md5": digest("md5", FORM) },
      FORM,
    ],
    ["its Content-Digest", { "content-digest": sha256(LIST) }],
    [
      "several digests",
      { "content-digest": `${sha256(LIST)} , ${sha512(LIST)}`, "repr-digest": sha512(LIST) },
    ],
    ["a digest that is not known", { "content-digest": `unixsum=:AAA=:, ${sha256(LIST)};p=1` }],
    ["no coding", { "content-encoding": "identity" }],
    ["gzip, which is stored as it comes", { "content-encoding": "gzip" }],
  ];
  for (const [what, headers, bytes] of taken)
    it(`is taken with ${what}`, async () => {
      assert.equal(await take(headers, bytes), LIST.toString());
    });

  const refused: [string, Headers, RegExp, Buffer?][] = [
    ["a range", { "content-range": "bytes 0-9/100" }, /^bad_request: Content-Range/],
    [
      "another Content-MD5",
      { "content-md5": digest("md5", OTHER) },
      /^bad_request: The body is not what Content-MD5/,
    ],
    [
      "the Content-MD5 of the file in a form",
      { "content-type": FORM_TYPE, "content-md5": digest("md5", LIST) },
      /not what/,
      FORM,
    ],
    [
      "a Content-MD5 in hexadecimal",
      { "content-md5": createHash("md5").update(LIST).digest("hex") },
      /^bad_request: Content-MD5 is malformed/,
    ],
    ["an empty Content-MD5", { "content-md5": "" }, /^bad_request: Content-MD5 is malformed/],
    ["another Content-Digest", { "content-digest": sha256(OTHER) }, /^bad_request: .* Content-Digest/],
    ["another Repr-Digest", { "repr-digest": sha512(OTHER) }, /^bad_request: .* Repr-Digest/],
    [
      "one of two digests wrong",
      { "content-digest": `${sha256(LIST)}, ${sha512(OTHER)}` },
      /^bad_request: The body/,
    ],
    ["a malformed digest", { "content-digest": "sha-256=abc" }, /^bad_request: Content-Digest is malformed/],
    [
      "a digest of another length",
      { "content-digest": "sha-256=:AAAA:" },
      /^bad_request: Content-Digest is malformed/,
    ],
    [
      "what curl -d makes of it",
      { "content-type": "application/x-www-form-urlencoded" },
      /^unsupported_media_type: .*curl -T list\.csv/,
    ],
    [
      "another multipart type",
      { "content-type": "Multipart/Mixed; boundary=b" },
      /^unsupported_media_type: .*curl -T/,
    ],
    ["a form without boundary", { "content-type": "multipart/form-data" }, /^bad_request: .*boundary/],
    ["brotli", { "content-encoding": "br" }, /^unsupported_media_type: /],
    ["two codings", { "content-encoding": "gzip, gzip" }, /^unsupported_media_type: /],
    ["more bytes than it may have", {}, /^bulk_too_large/, Buffer.alloc(LIMIT_BYTES + 1)],
  ];
  for (const [what, headers, refusal, bytes] of refused)
    it(`is refused with ${what}`, async () => {
      assert.match(await take(headers, bytes), refusal);
    });

  it("of a form is held to the limit without what stands around it", async () => {
    const form = (bytes: number) =>
      Buffer.concat([FORM.subarray(0, FORM.indexOf(LIST)), Buffer.alloc(bytes, "x"), FORM.subarray(-9)]);
    const headers = { "content-type": FORM_TYPE };
    assert.equal((await take(headers, form(LIMIT_BYTES))).length, LIMIT_BYTES);
    assert.match(await take(headers, form(LIMIT_BYTES + 1)), /^bulk_too_large/);
    assert.match(
      await take(headers, form(LIMITS.http.incoming.form.overheadBytes + LIMIT_BYTES)),
      /^bulk_too_large/,
    );
  });
});

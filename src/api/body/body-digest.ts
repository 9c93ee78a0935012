import { createHash } from "node:crypto";
import { AppError } from "../../platform/errors.ts";
import type { HttpRequest } from "../request/request.ts";

type Headers = HttpRequest["headers"];

/** The digest that a header field announces for a body. */
interface ExpectedDigest {
  field: string;
  algorithm: "md5" | "sha256" | "sha512";
  digest: Buffer;
}

const DIGEST_BYTES = { md5: 16, sha256: 32, sha512: 64 } as const;
/** RFC 9530 §5: the algorithms that are not deprecated. */
const ALGORITHMS: Readonly<Record<string, "sha256" | "sha512">> = {
  "sha-256": "sha256",
  "sha-512": "sha512",
};
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** A member of a dictionary of structured fields (RFC 9651) whose value is a byte sequence. */
const MEMBER = /^[ \t]*([a-z*][a-z0-9_\-.*]*)=:([A-Za-z0-9+/=]*):(?:;[^,]*)?[ \t]*$/;

function malformed(field: string, form: string): AppError {
  return new AppError("bad_request", `${field} is malformed: ${form} was expected.`);
}

function expected(field: string, algorithm: ExpectedDigest["algorithm"], base64: string): ExpectedDigest {
  const digest = Buffer.from(base64, "base64");
  if (!BASE64.test(base64) || digest.length !== DIGEST_BYTES[algorithm])
    throw malformed(field, `the base64 of ${DIGEST_BYTES[algorithm]} bytes`);
  return { field, algorithm, digest };
}

/** RFC 9530 §2 and §3. Algorithms that are not known say nothing. */
function fromDictionary(field: string, value: string): ExpectedDigest[] {
  return value.split(",").flatMap((member) => {
    const [, name = "", base64 = ""] = MEMBER.exec(member) ?? [];
    if (name === "") throw malformed(field, "`sha-256=:…base64…:`");
    const algorithm = ALGORITHMS[name];
    return algorithm === undefined ? [] : [expected(field, algorithm, base64)];
  });
}

/**
 * The digests that the sender announces: `Content-MD5` (RFC 1864), `Content-Digest`, `Repr-Digest` (RFC 9530).
 * @throws AppError `bad_request`
 */
function expectedDigests(headers: Headers): ExpectedDigest[] {
  const md5 = headers["content-md5"];
  const found = md5 === undefined ? [] : [expected("Content-MD5", "md5", md5)];
  for (const [field, value] of [
    ["Content-Digest", headers["content-digest"]],
    ["Repr-Digest", headers["repr-digest"]],
  ] as const)
    if (value !== undefined) found.push(...fromDictionary(field, value));
  return found;
}

/**
 * The same bytes; ends with an error instead of its end when they are not those that the sender meant.
 * @throws AppError `bad_request`: at once when a digest is malformed, from the iteration when it differs
 */
export function withDigests(
  headers: Headers,
): (pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> {
  const digests = expectedDigests(headers);
  return digests.length === 0 ? (pieces) => pieces : (pieces) => checked(pieces, digests);
}

async function* checked(
  pieces: AsyncIterable<Uint8Array>,
  digests: readonly ExpectedDigest[],
): AsyncGenerator<Uint8Array> {
  const hashes = digests.map(({ algorithm }) => createHash(algorithm));
  for await (const piece of pieces) {
    for (const hash of hashes) hash.update(piece);
    yield piece;
  }
  for (const [i, { field, digest }] of digests.entries()) {
    const actual = hashes[i]?.digest();
    if (actual?.equals(digest) === true) continue;
    throw new AppError(
      "bad_request",
      `The body is not what ${field} says: its digest is ${actual?.toString("base64")}. Nothing was kept.`,
    );
  }
}

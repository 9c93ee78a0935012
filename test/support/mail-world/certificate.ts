import { generateKeyPairSync, sign } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

const SEQUENCE = 0x30;
const ECDSA_WITH_SHA256 = Buffer.from("300a06082a8648ce3d040302", "hex");
const COMMON_NAME_OID = Buffer.from("0603550403", "hex");

/** One DER element (X.690 §8): tag, length in its shortest form, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  if (body.length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, body.length]), body]);
  return Buffer.concat([Buffer.from([tag, 0x82, body.length >> 8, body.length & 0xff]), body]);
}

const name = (commonName: string) =>
  der(SEQUENCE, der(0x31, der(SEQUENCE, COMMON_NAME_OID, der(0x0c, Buffer.from(commonName)))));

const utcTime = (text: string) => der(0x17, Buffer.from(text));

/**
 * A new private key and a self-signed certificate for it, as PEM (RFC 5280, version 1, P-256), valid to 2049.
 * Generated, so that the repository has no private key and the machine needs no openssl.
 */
export function selfSignedCertificate(commonName: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const toBeSigned = der(
    SEQUENCE,
    der(0x02, Buffer.from([1])),
    ECDSA_WITH_SHA256,
    name(commonName),
    der(SEQUENCE, utcTime("200101000000Z"), utcTime("491231235959Z")),
    name(commonName),
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", toBeSigned, privateKey);
  const certificate = der(
    SEQUENCE,
    toBeSigned,
    ECDSA_WITH_SHA256,
    der(0x03, Buffer.from([0]), signature),
  ).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
  };
}

/** A TLS context of such a certificate. */
export function selfSignedContext(commonName: string): SecureContext {
  return createSecureContext(selfSignedCertificate(commonName));
}

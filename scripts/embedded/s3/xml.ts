import { malformedXml } from "./error.ts";
import type { NamedPart } from "./multipart.ts";
import type { ObjectInfo } from "./object-file.ts";
import { encode } from "./sigv4.ts";

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";
const KEYS_MAX = 1_000;
const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function encodeText(text: string): string {
  return text.replace(/[<>&"\r\n]/g, (c) => `&#${c.charCodeAt(0)};`);
}

function decodeText(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(lt|gt|amp|quot|apos));/gi,
    (_, decimal, hex, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? "";
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : "";
    },
  );
}

type Value = string | number | boolean | null | { [name: string]: Value } | Value[];

/** `{A: {B: 1, C: ["x", "y"]}}` → `<A><B>1</B><C>x</C><C>y</C></A>`; null is left out. */
function render(name: string, value: Value): string {
  if (value === null) return "";
  if (Array.isArray(value)) return value.map((item) => render(name, item)).join("");
  if (typeof value !== "object") return `<${name}>${encodeText(String(value))}</${name}>`;
  const inner = Object.entries(value).map(([key, item]) => render(key, item));
  return `<${name}>${inner.join("")}</${name}>`;
}

export function document(name: string, value: { [name: string]: Value }): string {
  const xml = render(name, value).replace(`<${name}>`, `<${name} xmlns="${NAMESPACE}">`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xml}`;
}

const quoted = (etag: string) => `"${etag}"`;
export const isoTime = (ms: number) => new Date(ms).toISOString();

export function listEntry(info: ObjectInfo, encodeKey: boolean): { [name: string]: Value } {
  return {
    Key: encodeKey ? encode(info.key) : info.key,
    LastModified: isoTime(info.modifiedMs),
    ETag: quoted(info.etag),
    Size: info.size,
    StorageClass: "STANDARD",
  };
}

export function partEntry(info: ObjectInfo): { [name: string]: Value } {
  return {
    PartNumber: info.key,
    LastModified: isoTime(info.modifiedMs),
    ETag: quoted(info.etag),
    Size: info.size,
  };
}

function texts(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text]) =>
    decodeText(text ?? ""),
  );
}

/** Keys of a DeleteObjects request, and whether it asks for errors only. */
export function parseDelete(xml: string): { keys: string[]; quiet: boolean } {
  const keys = texts(xml, "Key");
  if (keys.length === 0 || keys.length > KEYS_MAX) throw malformedXml();
  return { keys, quiet: texts(xml, "Quiet")[0] === "true" };
}

/** Parts of a CompleteMultipartUpload request, in the order given. */
export function parseComplete(xml: string): NamedPart[] {
  const parts = xml.match(/<Part>[\s\S]*?<\/Part>/g) ?? [];
  return parts.map((part) => ({
    number: Number(texts(part, "PartNumber")[0]),
    etag: (texts(part, "ETag")[0] ?? "").replaceAll('"', ""),
  }));
}

import { isIP } from "node:net";

/**
 * Egress routes as the settings write them. Each parser returns null for wrong text without quoting it: the text may hold a
 * password.
 */

const HOST_NAME = /^(?=.*[a-z])[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/;
const PROXY =
  /^socks5h?:\/\/(?:([^\s:@/?#]+):([^\s:@/?#]+)@)?(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+)):(\d{1,5})\/?(?:#helo=([a-z0-9.-]+))?$/i;

export interface SourceSetting {
  /** IPv4, or IPv6 as RFC 5952 writes it. */
  address: string;
  /** null: the deployment's. */
  heloName: string | null;
}

export interface ProxySetting {
  /** Host name in lower case, or an IPv4 or IPv6 literal as RFC 5952 writes it, without brackets. */
  host: string;
  port: number;
  credentials: { username: string; password: string } | null;
  /** null: the deployment's. */
  heloName: string | null;
}

/** Resolvers read this as an IPv4 address: `0x7f.1` leads to 127.0.0.1. */
const ENDS_IN_NUMBER = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

function isHostName(text: string): boolean {
  const name = text.toLowerCase();
  return name.length <= 253 && HOST_NAME.test(name) && !ENDS_IN_NUMBER.test(name);
}

/**
 * An address as RFC 5952 writes it, so that one address has one spelling. null for other text and for the unspecified
 * address. Also for IPv4 in IPv6 and addresses with a zone: they mean another IP version, or one interface.
 */
function canonicalAddress(text: string): string | null {
  const family = isIP(text);
  if (family === 4) return text === "0.0.0.0" ? null : text;
  if (family === 0 || text.includes("%")) return null;
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1);
  return address === "::" || address.startsWith("::ffff:") ? null : address;
}

/** `address` or `address=helo-name`. */
export function parseSourceAddress(text: string): SourceSetting | null {
  const [addressText = "", heloName = null, ...more] = text.split("=");
  const address = canonicalAddress(addressText);
  if (address === null || more.length > 0) return null;
  if (heloName !== null && !isHostName(heloName)) return null;
  return { address, heloName };
}

/** Percent-decoded; RFC 1929 allows 1 to 255 octets. */
function credential(text: string): string | null {
  try {
    const decoded = decodeURIComponent(text);
    const bytes = Buffer.byteLength(decoded);
    return bytes >= 1 && bytes <= 255 ? decoded : null;
  } catch {
    return null;
  }
}

function proxyHost(ip6: string | undefined, plain: string): string | null {
  if (ip6 !== undefined) return isIP(ip6) === 6 ? canonicalAddress(ip6) : null;
  if (isIP(plain) === 4) return canonicalAddress(plain);
  return isHostName(plain) ? plain.toLowerCase() : null;
}

/** `socks5://[user:password@]host:port[#helo=name]`; `socks5h` means the same, since only addresses are requested. */
export function parseProxy(text: string): ProxySetting | null {
  const match = PROXY.exec(text);
  if (match === null) return null;
  const [, user, pass, ip6, plain = "", digits, heloName = null] = match;
  const host = proxyHost(ip6, plain);
  const port = Number(digits);
  if (host === null) return null;
  if (port < 1 || port > 65_535 || (heloName !== null && !isHostName(heloName))) return null;
  if (user === undefined || pass === undefined) return { host, port, credentials: null, heloName };
  const username = credential(user);
  const password = credential(pass);
  if (username === null || password === null) return null;
  return { host, port, credentials: { username, password }, heloName };
}

/** True when no text occurs twice. */
export function areDistinct(texts: readonly string[]): boolean {
  return new Set(texts).size === texts.length;
}

import { isIP } from "node:net";

/** Ways out as the settings write them. Each parser answers null for what is wrong: the text may hold a password. */

const HOST_NAME = /^(?=.*[a-z])[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/;
const PROXY =
  /^socks5h?:\/\/(?:([^\s:@/?#]+):([^\s:@/?#]+)@)?(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+)):(\d{1,5})\/?(?:#helo=([a-z0-9.-]+))?$/i;

export interface GivenSource {
  address: string;
  /** null: the deployment's. */
  heloName: string | null;
}

export interface GivenProxy {
  /** Host name in lower case, or an IPv4 or IPv6 literal without brackets. */
  host: string;
  port: number;
  credentials: { username: string; password: string } | null;
  /** null: the deployment's. */
  heloName: string | null;
}

function isHostName(text: string): boolean {
  return text.length <= 253 && HOST_NAME.test(text.toLowerCase());
}

/** `address` or `address=helo-name`. */
export function parseSourceAddress(text: string): GivenSource | null {
  const [address = "", heloName = null, ...more] = text.split("=");
  if (isIP(address) === 0 || more.length > 0) return null;
  if (heloName !== null && !isHostName(heloName)) return null;
  return { address, heloName };
}

/** Percent-decoded; RFC 1929 has room for 1 to 255 octets. */
function credential(text: string): string | null {
  try {
    const decoded = decodeURIComponent(text);
    const bytes = Buffer.byteLength(decoded);
    return bytes >= 1 && bytes <= 255 ? decoded : null;
  } catch {
    return null;
  }
}

/** `socks5://[user:password@]host:port[#helo=name]`; `socks5h` means the same, since only addresses are asked for. */
export function parseProxy(text: string): GivenProxy | null {
  const match = PROXY.exec(text);
  if (match === null) return null;
  const [, user, pass, ip6, plain = "", digits, heloName = null] = match;
  const host = (ip6 ?? plain).toLowerCase();
  const port = Number(digits);
  if (ip6 !== undefined ? isIP(ip6) !== 6 : isIP(host) !== 4 && !isHostName(host)) return null;
  if (port < 1 || port > 65_535 || (heloName !== null && !isHostName(heloName))) return null;
  if (user === undefined || pass === undefined) return { host, port, credentials: null, heloName };
  const username = credential(user);
  const password = credential(pass);
  if (username === null || password === null) return null;
  return { host, port, credentials: { username, password }, heloName };
}

/** No text is there twice. */
export function differ(texts: readonly string[]): boolean {
  return new Set(texts).size === texts.length;
}

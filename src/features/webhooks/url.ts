import { isIP } from "node:net";
import { LIMITS } from "../../config/limits/limits.ts";
import { mayDial } from "../../platform/public-address.ts";

/**
 * Ports of other protocols, whose servers could mistake a request for their own: those that browsers refuse to fetch from
 * (WHATWG Fetch, "bad port").
 */
const BAD_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** The host as it is looked up or dialled: without the brackets of an IPv6 literal, without a trailing dot. */
export function hostOf(url: URL): string {
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

/** Loopback by definition (RFC 6761 §6.3), whatever the DNS says. */
export function isLocalhost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/** True for a valid name in the DNS: labels of 1 to 63 characters, 253 in all (RFC 1035 §2.3.4). */
function isDnsName(host: string): boolean {
  return host.length <= 253 && host.split(".").every((label) => label.length >= 1 && label.length <= 63);
}

function hostProblem(host: string, privateAddresses: boolean): string | null {
  if (isIP(host) !== 0)
    return mayDial(host, privateAddresses) ? null : "must not name a private, loopback or reserved address";
  if (!isDnsName(host)) return "must name a valid DNS host";
  if (privateAddresses) return null;
  // A name of one label resolves in a private network or nowhere.
  if (isLocalhost(host) || !host.includes(".")) return "must name a public host";
  return null;
}

/**
 * A URL that deliveries may be sent to, in normal form; or its problem, as the text of a validation error. The forms of
 * IPv4 in URLs (octal, hexadecimal, one number) are converted to one address, as the client does. The addresses of the host
 * name are checked before each connection, not here.
 * @param privateAddresses the setting: private addresses and plain http are allowed
 */
export function readWebhookUrl(
  text: string,
  privateAddresses: boolean,
): { url: string } | { problem: string } {
  const max = LIMITS.webhooks.urlChars;
  // The parser would drop tabs and newlines and turn backslashes: reject them instead.
  if (text.length > max) return { problem: `must have at most ${max} characters` };
  if (/[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text)) return { problem: "must be a URL" };
  const url = new URL(text);
  if (url.protocol !== "https:" && !(privateAddresses && url.protocol === "http:"))
    return { problem: "must start with https://" };
  if (url.username !== "" || url.password !== "") return { problem: "must not hold a user name or password" };
  if (url.hash !== "" || text.includes("#")) return { problem: "must not have a fragment" };
  if (url.port !== "" && BAD_PORTS.has(Number(url.port)))
    return { problem: `must not name port ${url.port}: it belongs to another protocol` };
  const problem = hostProblem(hostOf(url), privateAddresses);
  if (problem !== null) return { problem };
  return url.href.length > max ? { problem: `must have at most ${max} characters` } : { url: url.href };
}

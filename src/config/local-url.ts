import { isIPv6 } from "node:net";

/**
 * These mean every address of the machine, loopback included. A browser may be unable to open them, but it can open
 * loopback.
 */
const LOOPBACK_OF: Record<string, string> = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

/** Whether a host, as URLs or requests write it, is this machine by definition: no other machine can listen in between. */
export function isLoopbackHost(hostname: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|localhost)$/i.test(hostname);
}

/**
 * The URL at which a client on this machine reaches a server that listens on `host`.
 * @param host an IP address, for IPv6 also with a zone
 */
export function localUrl(host: string, port: number): string {
  const written = isIPv6(host) ? bracketed(host) : host;
  return `http://${LOOPBACK_OF[written] ?? written}:${port}`;
}

/** IPv6 as URLs write it: in brackets, shortest form, the `%` of a zone escaped (RFC 6874). */
function bracketed(address: string): string {
  const text = `[${address.replace("%", "%25")}]`;
  return URL.canParse(`http://${text}`) ? new URL(`http://${text}`).hostname : text;
}

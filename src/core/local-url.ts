import { isIPv6 } from "node:net";

/** Those that mean every address of the machine; loopback is one of them, and a browser may not open the others. */
const LOOPBACK_OF: Record<string, string> = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

/** Whether a host, as URLs write it or as requests name it, is this machine by definition: nobody listens in between. */
export function isLoopbackHost(hostname: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|localhost)$/i.test(hostname);
}

/**
 * The URL at which somebody on this machine reaches a server that listens on `host`.
 * @param host an IP address, of IPv6 also with a zone
 */
export function localUrl(host: string, port: number): string {
  const written = isIPv6(host) ? bracketed(host) : host;
  return `http://${LOOPBACK_OF[written] ?? written}:${port}`;
}

/** IPv6 as URLs have it: in brackets, shortest form, the `%` of a zone escaped (RFC 6874). */
function bracketed(address: string): string {
  const text = `[${address.replace("%", "%25")}]`;
  return URL.canParse(`http://${text}`) ? new URL(`http://${text}`).hostname : text;
}

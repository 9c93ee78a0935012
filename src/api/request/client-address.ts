import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

function parseNetwork(text: string): Network {
  if (text.includes("/")) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

function contains([network, bits]: Network, address: Address): boolean {
  if (address.kind() !== network.kind()) return false;
  return address.match(network, bits);
}

/** `192.0.2.1:5123`, `[2001:db8::1]:443`, `[2001:db8::1]`: as some proxies write their peer. */
const DECORATED = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/**
 * IPv4 in IPv6 (`::ffff:192.0.2.1`, how a dual-stack socket reports it) counts as IPv4. IPv4 is four decimal parts:
 * `1`, `0x7f.1` and `010.0.0.1` are addresses to inet_aton, and nothing that a proxy writes.
 */
function parseAddress(text: string): Address | null {
  const match = DECORATED.exec(text);
  const bare = match ? (match[1] ?? match[2] ?? "") : text;
  const valid = ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare);
  return valid ? ipaddr.process(bare) : null;
}

/** Reads the client's address from the peer's and from `X-Forwarded-For`. */
export interface ClientAddresses {
  /** False: no proxy is trusted, so the header need not even be read. */
  readonly readsForwardedFor: boolean;
  /**
   * The right-most address that no trusted proxy added; the peer itself unless the peer is trusted. Each proxy appends its
   * peer, so everything to the left of the first untrusted entry is the client's own claim.
   * @param peer raw bytes, 4 or 16; anything else yields "unknown"
   * @param forwardedFor the header's value; "" when absent
   */
  resolve(peer: Uint8Array, forwardedFor: string): string;
}

/** @param trustedProxies addresses or networks, checked by the configuration */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const networks = trustedProxies.map(parseNetwork);
  const trusted = (address: Address) => networks.some((network) => contains(network, address));

  function resolve(peer: Uint8Array, forwardedFor: string): string {
    if (peer.length !== 4 && peer.length !== 16) return "unknown";
    let client = ipaddr.process(ipaddr.fromByteArray([...peer]).toString());
    if (forwardedFor === "" || !trusted(client)) return client.toString();
    for (const hop of forwardedFor.split(",").reverse()) {
      const address = parseAddress(hop.trim());
      if (address === null) break;
      client = address;
      if (!trusted(address)) break;
    }
    return client.toString();
  }

  return { readsForwardedFor: networks.length > 0, resolve };
}

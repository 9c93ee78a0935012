import { isIP } from "node:net";

export interface ServerAddress {
  address: string;
  port: number;
  family: 4 | 6;
}

/** @throws on anything but `ip`, `ip4:port` or `[ip6]:port`; the configuration has checked it before. */
export function parseServerAddress(text: string): ServerAddress {
  const match = /^(?:\[([^\]]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match ? (match[1] ?? match[2] ?? "") : text;
  const family = isIP(address);
  const port = Number(match?.[3] ?? 53);
  if ((family !== 4 && family !== 6) || port < 1 || port > 65_535)
    throw new Error(`${text} is not the address of a DNS server`);
  return { address, port, family };
}

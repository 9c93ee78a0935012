import { isIP } from "node:net";
import type { SmtpConfig } from "../core/config.ts";

/** A way out: what a mail server takes for our address. Caps, breakers and greylisting go by it. */
export interface Path {
  /** Stable, without secrets: the source address; `direct` where the system chooses one. */
  name: string;
  /** Source address; null lets the system choose. */
  localAddress: string | null;
}

export interface Paths {
  /**
   * The way to a host: the same one for the same site, so that greylisting and the site's opinion of us stay with it.
   * @param address IPv4 or IPv6 literal of the host
   * @returns undefined: no source address of this family
   */
  to(site: string, address: string): Path | undefined;
}

const DIRECT: Path = { name: "direct", localAddress: null };

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

export function createPaths(config: Pick<SmtpConfig, "sourceAddresses">): Paths {
  const sources = config.sourceAddresses.map((source): Path => ({ name: source, localAddress: source }));
  return {
    to(site, address) {
      if (sources.length === 0) return DIRECT;
      const fitting = sources.filter(({ name }) => isIP(name) === isIP(address));
      return fitting[hashOf(site) % fitting.length];
    },
  };
}

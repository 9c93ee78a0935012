import { connect } from "node:net";
import type { SmtpConfig } from "../core/config.ts";
import { mayDial } from "../core/public-address.ts";
import { sourceFor } from "./target-address.ts";

/**
 * True when `address` takes a TCP connection on the SMTP port within `withinMs`; nothing is said on it. False also for
 * an address that may not be dialled. Never rejects.
 */
export function takesConnection(address: string, config: SmtpConfig, withinMs: number): Promise<boolean> {
  if (!mayDial(address, config.probePrivateAddresses)) return Promise.resolve(false);
  const source = sourceFor(address, address, config.sourceAddresses);
  if (source === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({
      host: address,
      port: config.port,
      timeout: withinMs,
      ...(source === null ? {} : { localAddress: source }),
    });
    const end = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}

import { connect } from "node:net";
import type { SmtpConfig } from "../core/config.ts";
import { mayDial } from "../core/public-address.ts";
import type { Paths } from "./path.ts";

/**
 * True when `address` takes a TCP connection on the SMTP port within `withinMs`; nothing is said on it. False also for
 * an address that may not be dialled. Never rejects.
 */
export function takesConnection(
  address: string,
  config: SmtpConfig,
  paths: Paths,
  withinMs: number,
): Promise<boolean> {
  if (!mayDial(address, config.probePrivateAddresses)) return Promise.resolve(false);
  const path = paths.to(address, address);
  if (path === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({
      host: address,
      port: config.port,
      timeout: withinMs,
      ...(path.localAddress === null ? {} : { localAddress: path.localAddress }),
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

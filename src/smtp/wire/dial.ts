import type { SmtpConfig } from "../../config/config.ts";
import { mayDial } from "../../platform/public-address.ts";
import { createConnection } from "./connection.ts";
import type { EgressRoutes } from "./egress-routes.ts";

/** One key for an address and its egress route: it lets a later probe dial the same target. */
export function dialTargetKey(path: string, address: string): string {
  return `${path} ${address}`;
}

/**
 * True when the address of `targetKey`, by its egress route, accepts a TCP connection on the SMTP port within `timeoutMs`.
 * Nothing is sent. False also for an address that may not be dialled and for an unknown route. Never rejects.
 */
export function acceptsConnection(
  targetKey: string,
  config: SmtpConfig,
  paths: EgressRoutes,
  timeoutMs: number,
): Promise<boolean> {
  const [name, address = ""] = targetKey.split(" ");
  const path = paths.all.find((known) => known.name === name);
  if (path === undefined || !mayDial(address, config.probePrivateAddresses)) return Promise.resolve(false);
  const { localAddress, proxy } = path;
  return new Promise((resolve) => {
    const connection = createConnection(
      { host: address, address, port: config.port, localAddress, proxy },
      {
        onConnect: () => end(true),
        onData: () => {},
        onSecure: () => {},
        onClose: () => end(false),
      },
    );
    // Timers run before sockets: after a stall of this thread, a server that answered in time would count as silent.
    const timer = setTimeout(() => setImmediate(() => end(false)), timeoutMs);
    function end(isAccepted: boolean): void {
      clearTimeout(timer);
      connection.destroy();
      resolve(isAccepted);
    }
  });
}

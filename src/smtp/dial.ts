import type { SmtpConfig } from "../core/config.ts";
import { mayDial } from "../core/public-address.ts";
import { createConnection } from "./connection.ts";
import type { Paths } from "./path.ts";

/** An address by a way, as one word: where a probe went, to go there again. */
export function trialOf(path: string, address: string): string {
  return `${path} ${address}`;
}

/**
 * True when the address of `trial`, by its way, takes a TCP connection on the SMTP port within `withinMs`; nothing is
 * said on it. False also for an address that may not be dialled and a way that is none. Never rejects.
 */
export function takesConnection(
  trial: string,
  config: SmtpConfig,
  paths: Paths,
  withinMs: number,
): Promise<boolean> {
  const [name, address = ""] = trial.split(" ");
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
    // Timers come before sockets: had this thread stood still, one that answered in time would be taken for silent.
    const timer = setTimeout(() => setImmediate(() => end(false)), withinMs);
    function end(taken: boolean): void {
      clearTimeout(timer);
      connection.destroy();
      resolve(taken);
    }
  });
}

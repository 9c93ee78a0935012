import type { ClientRequest } from "node:http";

/** Resolves when more may be written, or the connection has ended. */
export function drained(req: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      req.off("drain", settle);
      req.off("close", settle);
      resolve();
    };
    req.on("drain", settle);
    req.on("close", settle);
    if (req.destroyed) settle();
  });
}

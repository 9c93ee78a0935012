// The development object storage as a process. Reads its options as JSON from standard input, where no process list
// shows the secret, and writes the port it listens on into `portFile`.
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createS3Server, type S3ServerOptions } from "./server.ts";

const { portFile, ...options } = JSON.parse(await text(process.stdin)) as Omit<S3ServerOptions, "now"> & {
  portFile: string;
};
const server = createS3Server({ ...options, now: Date.now });
process.once("SIGTERM", () => {
  server.close();
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), 2_000).unref();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
writeFileSync(`${portFile}.new`, String((server.address() as AddressInfo).port));
renameSync(`${portFile}.new`, portFile);

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EmbeddedOptions } from "./postgres.ts";
import { type ServiceProcess, startService, untilReady } from "./service.ts";

export interface EmbeddedObjects {
  endpoint: string;
  region: string;
  /** A bucket that exists. */
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  service: ServiceProcess;
}

const ENTRY = fileURLToPath(new URL("./s3/main.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 5_000;
const REGION = "us-east-1";
const BUCKET = "rcpt";

/** Credentials of this data folder, made the first time and kept: presigned URLs stay valid over a restart. */
function credentials(folder: string): { accessKeyId: string; secretAccessKey: string } {
  const file = join(folder, "credentials.json");
  if (!existsSync(file)) {
    const made = {
      accessKeyId: `rcpt${randomBytes(8).toString("hex")}`,
      secretAccessKey: randomBytes(24).toString("base64url"),
    };
    writeFileSync(file, JSON.stringify(made), { mode: 0o600 });
  }
  return JSON.parse(readFileSync(file, "utf8")) as { accessKeyId: string; secretAccessKey: string };
}

/** Starts the S3-compatible development server of our own on a free loopback port, data in `options.folder`. */
export async function startObjects(options: EmbeddedOptions): Promise<EmbeddedObjects> {
  const { folder, guard } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keys = credentials(folder);
  const portFile = join(folder, "port");
  rmSync(portFile, { force: true });
  const service = startService({
    command: process.execPath,
    args: ["--import", TSX, ENTRY],
    env: { PATH: process.env.PATH },
    stdin: JSON.stringify({
      folder: join(folder, "data"),
      portFile,
      region: REGION,
      bucket: BUCKET,
      // The portal's pages send files by presigned URLs, from whatever origin they are served.
      cors: { origins: ["*"], methods: ["PUT"] },
      ...keys,
    }),
    logFile: join(folder, "objects.log"),
    stopSignal: "SIGTERM",
    stopGraceMs: STOP_GRACE_MS,
    guard,
  });
  await untilReady("the object storage", service, READY_WITHIN_MS, async () => existsSync(portFile));
  const endpoint = `http://127.0.0.1:${readFileSync(portFile, "utf8").trim()}`;
  return { endpoint, region: REGION, bucket: BUCKET, ...keys, service };
}

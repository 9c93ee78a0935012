import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Guard } from "../embedded/guard.ts";
import { startService, untilReady } from "../embedded/service.ts";
import type { MailServer, User } from "./mail-server.ts";
import { NAMES_IP } from "./names.ts";

const READY_WITHIN_MS = 30_000;
const BANNER_WITHIN_MS = 2_000;
const STOP_GRACE_MS = 2_000;
const ENV = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };
/** Last line of the start script: what a server asks at RCPT, such as a greylist, is up too. */
const STARTED = "all services started";
const ENTER = join(import.meta.dirname, "enter.sh");
const SYSLOG = join(import.meta.dirname, "syslog.pl");
const SYSTEM_USERS: User[] = [
  { name: "root", uid: 0, home: "/root" },
  { name: "nobody", uid: 65_534, home: "/nonexistent" },
];

/** Mail servers change between users: not root, they need the numbers that /etc/subuid gives us. */
function namespaces(): string[] {
  const asRoot = process.getuid?.() === 0;
  const users = asRoot ? [] : ["--user", "--map-root-user", "--map-auto"];
  return [...users, "--mount", "--pid", "--fork", "--kill-child=SIGKILL"];
}

/** One line that says why no sandbox can be had here, or null. */
export async function whyNoSandbox(): Promise<string | null> {
  if (process.platform !== "linux") return "needs Linux (mount and process namespaces)";
  try {
    await promisify(execFile)("unshare", [...namespaces(), "mount", "-t", "tmpfs", "none", "/mnt"], {
      env: ENV,
    });
    return null;
  } catch (error) {
    const detail = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    return `needs mount and process namespaces: root, or user namespaces with newuidmap and /etc/subuid (${detail})`;
  }
}

function accounts(users: readonly User[]): Record<string, string> {
  const all = [...SYSTEM_USERS, ...users];
  const passwd = all.map(({ name, uid, home }) => `${name}:x:${uid}:${uid}::${home}:/bin/sh\n`);
  const group = all.map(({ name, uid }) => {
    const members = all.filter((user) => user.groups?.includes(name)).map((user) => user.name);
    return `${name}:x:${uid}:${members.join(",")}\n`;
  });
  return {
    "/etc/passwd": passwd.join(""),
    "/etc/group": group.join(""),
    // Clients have no host name, as is common for unknown clients: this world has no names for loopback.
    "/etc/hosts": "",
    "/etc/resolv.conf": `nameserver ${NAMES_IP}\noptions timeout:2 attempts:1\n`,
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
  };
}

const startScript = (server: MailServer) => `set -eu
perl /run/syslog.pl &
until [ -S /dev/log ]; do sleep 0.05; done
${server.start.trim()}
echo "${STARTED}"
wait
`;

function writeFiles(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** True when a server greets there. */
function greets(ip: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: ip, port, timeout: BANNER_WITHIN_MS });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("data", (bytes) => finish(bytes.toString("latin1").startsWith("220")));
    socket.once("timeout", () => finish(false));
    socket.once("error", () => finish(false));
    socket.once("end", () => finish(false));
  });
}

export interface RunningServer {
  server: MailServer;
  /** All that it has logged. */
  log(): string;
}

/**
 * Starts `server` on its addresses, in namespaces of its own on the unpacked file system `root`; changes are kept in
 * memory. The guard ends it, also when this process is killed. Resolves once it greets.
 *
 * @throws Error with the server's last log lines when it does not come up.
 */
export async function startMailServer(
  server: MailServer,
  port: number,
  root: string,
  guard: Guard,
): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), `rcpt-mta-${server.name}-`));
  guard.removeAtEnd(folder);
  chmodSync(folder, 0o755);
  const files = join(folder, "files");
  writeFiles(files, {
    ...accounts(server.users),
    ...server.files(port),
    "/run/start.sh": startScript(server),
  });
  copyFileSync(SYSLOG, join(files, "run/syslog.pl"));
  const logFile = join(folder, "log");
  const service = startService({
    command: "unshare",
    args: [...namespaces(), "sh", ENTER, root, files],
    env: ENV,
    logFile,
    stopSignal: "SIGKILL",
    stopGraceMs: STOP_GRACE_MS,
    guard,
  });
  const log = () => readFileSync(logFile, "utf8");
  const [main] = server.listeners;
  if (main === undefined) throw new Error(`${server.name} listens nowhere`);
  await untilReady(server.name, service, READY_WITHIN_MS, async () => {
    return log().includes(STARTED) && (await greets(main.ip, port));
  });
  return { server, log };
}

/**
 * A server's action when a command or a connection arrives. Bytes go out exactly as given: a server that misbehaves is
 * one whose bytes are wrong.
 */
export type Action =
  | { kind: "say"; bytes: Buffer; next: "go_on" | "close" | "reset" }
  /** Sends nothing more in this session, and holds the connection open until the client closes it. */
  | { kind: "silence" }
  /** Sends `chunk` again and again until `bytes` are sent or the client leaves; no faster than the client reads. */
  | { kind: "repeat"; chunk: Buffer; bytes: number }
  /** Sends one byte at each tick of the world's drip (`MailWorldOptions.dripIntervalMs`, or `drip()` by hand). */
  | { kind: "drip"; bytes: Buffer };

const bytesOf = (lines: string[], encoding: "utf8" | "latin1") =>
  Buffer.from(lines.map((line) => `${line}\r\n`).join(""), encoding);

/** Whole reply lines, without CRLF, in UTF-8. */
export function say(...lines: string[]): Action {
  return { kind: "say", bytes: bytesOf(lines, "utf8"), next: "go_on" };
}

export function sayLatin1(...lines: string[]): Action {
  return { kind: "say", bytes: bytesOf(lines, "latin1"), next: "go_on" };
}

/** Sends the lines and closes in order, as a server does after a 421. */
export function sayAndClose(...lines: string[]): Action {
  return { kind: "say", bytes: bytesOf(lines, "utf8"), next: "close" };
}

export function sayBytes(bytes: Buffer): Action {
  return { kind: "say", bytes, next: "go_on" };
}

export function repeat(chunk: string, bytes: number): Action {
  return { kind: "repeat", chunk: Buffer.from(chunk, "latin1"), bytes };
}

export function drip(...lines: string[]): Action {
  return { kind: "drip", bytes: bytesOf(lines, "utf8") };
}

/** Closes without a reply. */
export const DROP: Action = { kind: "say", bytes: Buffer.alloc(0), next: "close" };
/** Resets the TCP connection without a reply. */
export const RESET: Action = { kind: "say", bytes: Buffer.alloc(0), next: "reset" };
/** Omits this one reply and goes on: a client that waits for it takes the next reply for it. */
export const OMIT: Action = { kind: "say", bytes: Buffer.alloc(0), next: "go_on" };
export const SILENCE: Action = { kind: "silence" };

const startsWith = (action: Action, digits: string) =>
  action.kind === "say" && digits.includes(String.fromCharCode(action.bytes[0] ?? 0));

/** A 2xx reply after which the session goes on. */
export function isPositive(action: Action): boolean {
  return startsWith(action, "2") && action.kind === "say" && action.next === "go_on";
}

/** A 4xx or 5xx reply. */
export function isRefusal(action: Action): boolean {
  return startsWith(action, "45");
}

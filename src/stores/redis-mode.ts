/** Modes of a server in which rcpt cannot use it. */
export type UnusableRedisMode = "cluster" | "sentinel";

/** The problem with each mode, and the advice (docs/compatibility.md). */
export const UNUSABLE_REDIS: Readonly<Record<UnusableRedisMode, { text: string; advice: string }>> = {
  cluster: {
    text: "REDIS_URL leads to a node of a Redis Cluster: keys of other nodes cannot be reached.",
    advice: "Use a server without cluster mode, with a replica for fail-over behind one address.",
  },
  sentinel: {
    text: "REDIS_URL leads to a Sentinel, which holds no data and is not asked for the primary.",
    advice: "Use an address that follows the primary: a managed endpoint, or HAProxy before the servers.",
  },
};

/** Fields of a reply to INFO, by name. */
export function parseInfo(text: string): Map<string, string> {
  const pairs = text
    .split("\r\n")
    .flatMap((line) => (line.startsWith("#") || !line.includes(":") ? [] : [line]));
  return new Map(
    pairs.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
}

/** @param info fields of INFO. @returns null: the server can be used */
export function unusableMode(info: ReadonlyMap<string, string>): UnusableRedisMode | null {
  if (info.get("cluster_enabled") === "1") return "cluster";
  // Valkey has another name for it.
  return (info.get("redis_mode") ?? info.get("server_mode")) === "sentinel" ? "sentinel" : null;
}

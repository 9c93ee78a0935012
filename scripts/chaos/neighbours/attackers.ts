import { gzipSync } from "node:zlib";
import { newSecret } from "../../../src/features/identity/api-key.ts";

/** The request that an attacking client repeats. */
export interface AttackRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  /** null: no Authorization header. */
  key: string | null;
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** A slow body: its length is announced, and `bytesPerS` of its bytes are sent a second. */
  trickle?: { bytes: number; bytesPerS: number };
}

/** The attacker's own team, with keys made before the attack. */
export interface AttackerTeam {
  tier: "free" | "enterprise";
  keys: number;
  blocklistRows: number;
}

/** A neighbour whose requests cost others time, with the refusal that the API must give. */
export interface Attacker {
  name: string;
  /** null: no team; it sends no credential or unknown ones. */
  team: AttackerTeam | null;
  /** Requests in progress at once, each on its own connection. */
  connections: number;
  /** Duration of one attack; default: `TURN_MS` of neighbours.ts. */
  turnMs?: number;
  /** @param keys of its team */
  request(n: number, keys: readonly string[]): AttackRequest;
  /** The attacker must get at least one of these answers, e.g. `429 rate_limited`: the refusals that fit the attack. */
  refusals: readonly string[];
}

const JSON_TYPE = { "content-type": "application/json" };
const FREE: AttackerTeam = { tier: "free", keys: 1, blocklistRows: 0 };
const keyOf = (keys: readonly string[], n: number) => keys[n % keys.length] ?? "";

/** A JSON object of about `bytes`, of as many short members as fit: the most work a byte. */
function manyMembers(bytes: number): string {
  const members: string[] = [];
  for (let length = 2, n = 0; length < bytes; n++) {
    const member = `"a${n}":${n % 10}`;
    members.push(member);
    length += member.length + 1;
  }
  return `{${members.join(",")}}`;
}

const largeJson = manyMembers(10_000_000);
const loginJson = manyMembers(950_000);

const bulkJson: Attacker = {
  name: "bulk-json",
  team: FREE,
  connections: 2,
  request: (n, keys) => ({
    method: "POST",
    path: "/v1/verify/bulk",
    key: keyOf(keys, n),
    headers: JSON_TYPE,
    body: largeJson,
  }),
  refusals: ["402 unavailable_in_tier", "429 rate_limited"],
};

const login: Attacker = {
  name: "login-json",
  team: null,
  connections: 4,
  request: () => ({ method: "POST", path: "/v1/auth/login", key: null, headers: JSON_TYPE, body: loginJson }),
  refusals: ["413 body_too_large", "429 rate_limited"],
};

/** Every change of the blocklist once made all 300 keys stale, and each look-up then read all 9,000 rows. */
const largeTeam: Attacker = {
  name: "large-team",
  team: { tier: "enterprise", keys: 300, blocklistRows: 9_000 },
  connections: 32,
  request(n, keys) {
    if (n % 20 !== 0) return { method: "GET", path: "/v1/usage", key: keyOf(keys, n) };
    const body = JSON.stringify({ domain: `changed-${n}.test` });
    return { method: "POST", path: "/v1/blocklist", key: keyOf(keys, n), headers: JSON_TYPE, body };
  },
  refusals: ["429 rate_limited", "409 limit_reached"],
};

/** Bodies of small requests without a credential, at 200 bytes a second: the API gives them up after 5 s. */
const slowBodies: Attacker = {
  name: "slow-bodies",
  team: null,
  connections: 40,
  turnMs: 8_000,
  request: () => slowBody("/v1/auth/login", null, { bytes: 16_000, bytesPerS: 200 }),
  refusals: ["408 request_timeout"],
};

/** Bodies of large requests at 18 KB a second, which the API gives up after 11 s. */
const slowLargeBodies: Attacker = {
  name: "slow-large-bodies",
  team: FREE,
  connections: 40,
  turnMs: 14_000,
  request: (n, keys) => slowBody("/v1/feedback", keyOf(keys, n), { bytes: 900_000, bytesPerS: 18_000 }),
  refusals: ["408 request_timeout"],
};

function slowBody(path: string, key: string | null, trickle: AttackRequest["trickle"]): AttackRequest {
  return { method: "POST", path, key, headers: JSON_TYPE, ...(trickle && { trickle }) };
}

/** Creates many rows that wait for a periodic task, which handles a limited number at a time. */
const pendingRows: Attacker = {
  name: "pending-rows",
  team: { tier: "enterprise", keys: 1, blocklistRows: 0 },
  connections: 4,
  request(n, keys) {
    const domains = Array.from({ length: 500 }, (_, i) => `pending-${n}-${i}.test`);
    const body = JSON.stringify({ domains });
    return { method: "POST", path: "/v1/admin/disposable", key: keyOf(keys, n), headers: JSON_TYPE, body };
  },
  refusals: ["409 limit_reached", "429 rate_limited"],
};

const reads: Attacker = {
  name: "reads",
  team: FREE,
  connections: 32,
  request: (n, keys) => ({ method: "GET", path: "/v1/team", key: keyOf(keys, n) }),
  refusals: ["429 rate_limited"],
};

/** Well-formed keys that do not exist, each sent once. */
const unknownKeys: Attacker = {
  name: "unknown-keys",
  team: null,
  connections: 32,
  request: () => ({ method: "GET", path: "/v1/team", key: newSecret("live") }),
  refusals: ["429 rate_limited"],
};

/** As a browser's pages would, so that each answer has fields for them. */
const browsers: Attacker = {
  name: "browser-flood",
  team: FREE,
  connections: 64,
  request: (n, keys) => ({
    method: "GET",
    path: `/v1/verify?email=flood-${n}%40example-${n % 50}.test`,
    key: keyOf(keys, n),
    headers: { origin: "https://app.example.com" },
  }),
  refusals: ["429 rate_limited", "429 quota_exceeded"],
};

const feedbackFile = gzipSync(
  `email\n${Array.from({ length: 9_990 }, () => `"${"a@\u00fc.de,".repeat(200)}"`).join("\n")}\n`,
);

/** A small gzip file of many cells that are slow to read as addresses. */
const feedbackFiles: Attacker = {
  name: "feedback-files",
  team: FREE,
  connections: 4,
  request: (n, keys) => ({
    method: "POST",
    path: "/v1/feedback/files?column=email&outcome=delivered",
    key: keyOf(keys, n),
    // Without Content-Encoding, which is refused unread: that it is gzip is seen by its first bytes.
    headers: { "content-type": "text/csv" },
    body: feedbackFile,
  }),
  refusals: ["409 limit_reached", "429 rate_limited"],
};

/** Writes that all lock the row of one team, by a tier that may send many of them. */
const writes: Attacker = {
  name: "writes",
  team: { tier: "enterprise", keys: 1, blocklistRows: 0 },
  connections: 64,
  request: (n, keys) => ({
    method: "PATCH",
    path: "/v1/team",
    key: keyOf(keys, n),
    headers: JSON_TYPE,
    body: JSON.stringify({ name: `team ${n}` }),
  }),
  refusals: ["429 rate_limited"],
};

export const ATTACKERS: readonly Attacker[] = [
  bulkJson,
  login,
  largeTeam,
  slowBodies,
  slowLargeBodies,
  pendingRows,
  reads,
  unknownKeys,
  browsers,
  feedbackFiles,
  writes,
];
/** Origin of the requests of `browser-flood`; the API must allow it. */
export const ATTACK_ORIGIN = "https://app.example.com";

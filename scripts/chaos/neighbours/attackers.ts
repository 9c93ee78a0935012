import { newSecret } from "../../../src/features/identity/api-key.ts";

/** The request that an attacking client repeats. */
export interface AttackRequest {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** null: no Authorization header. */
  key: string | null;
  headers?: Readonly<Record<string, string>>;
  body?: string;
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
  refusals: ["402 unavailable_in_tier"],
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

/** By turns a body that is too large to be waited for, and one that may come but does not. */
const slowBodies: Attacker = {
  name: "slow-bodies",
  team: null,
  connections: 80,
  request: (n) => ({
    method: "POST",
    path: "/v1/auth/login",
    key: null,
    headers: JSON_TYPE,
    trickle: n % 2 === 0 ? { bytes: 1_000_000, bytesPerS: 18_000 } : { bytes: 16_000, bytesPerS: 200 },
  }),
  refusals: ["408 request_timeout", "413 body_too_large", "429 rate_limited", "503 overloaded"],
};

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

export const ATTACKERS: readonly Attacker[] = [
  bulkJson,
  login,
  largeTeam,
  slowBodies,
  pendingRows,
  reads,
  unknownKeys,
  browsers,
];
/** Origin of the requests of `browser-flood`; the API must allow it. */
export const ATTACK_ORIGIN = "https://app.example.com";

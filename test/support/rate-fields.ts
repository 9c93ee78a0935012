import assert from "node:assert/strict";

/** One policy, as both `RateLimit-Policy` and `RateLimit` describe it (IETF httpapi draft). */
export interface LimitFields {
  /** Quota of the window, and the window in seconds. */
  q: number;
  w: number;
  /** Units left, and the seconds until they are replenished. */
  r: number;
  t: number;
}

/** Parses the two fields strictly: a list of quoted names, each with exactly two integer parameters. */
export function limitFields(headers: Headers): Record<string, LimitFields> {
  const policy = parseList(headers.get("ratelimit-policy"), ["q", "w"]);
  const state = parseList(headers.get("ratelimit"), ["r", "t"]);
  assert.deepEqual(Object.keys(state), Object.keys(policy));
  const names = Object.keys(policy);
  return Object.fromEntries(
    names.map((name) => {
      const [q = 0, w = 0] = policy[name] ?? [];
      const [r = 0, t = 0] = state[name] ?? [];
      assert.ok(r <= q && t >= 1 && w >= 1, `${name}: q=${q} w=${w} r=${r} t=${t}`);
      return [name, { q, w, r, t }];
    }),
  );
}

function parseList(field: string | null, parameters: [string, string]): Record<string, number[]> {
  assert.ok(field, "the field is missing");
  const [first, second] = parameters;
  const item = new RegExp(`^"([a-z]+)";${first}=(\\d{1,15});${second}=(\\d{1,15})$`);
  const items: [string, number[]][] = field.split(", ").map((text) => {
    const [, name = "", a, b] = item.exec(text) ?? assert.fail(`not a list of policies: ${field}`);
    return [name, [Number(a), Number(b)]];
  });
  return Object.fromEntries(items);
}

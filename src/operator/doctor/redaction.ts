import type { Config } from "../../config/config.ts";

/** Shorter values are not masked: they protect nothing, and ordinary words may contain them. */
const SHORTEST = 6;

/** The user's password in a URL, as it is written and as it is meant. */
function passwordsOf(url: string): string[] {
  if (!URL.canParse(url)) return [];
  const { password, searchParams } = new URL(url);
  return [password, decoded(password), searchParams.get("password") ?? ""];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Every secret of a configuration that must not appear in a terminal or a ticket. */
export function secretsOf(config: Config): string[] {
  const { database, redis, objects, mail, secretsKey, billing, smtp, tracing } = config;
  const all = [
    ...[database.url, redis.url, mail?.url ?? "", tracing?.endpoint ?? ""].flatMap(passwordsOf),
    objects?.credentials?.secretAccessKey ?? "",
    ...(secretsKey === null ? [] : [secretsKey.toString("base64"), secretsKey.toString("hex")]),
    ...(billing === null ? [] : [billing.secretKey, billing.webhookSecret]),
    ...smtp.proxies.map(({ credentials }) => credentials?.password ?? ""),
    ...(tracing === null ? [] : [...tracing.headers.values()]),
  ];
  return [...new Set(all.filter((secret) => secret.length >= SHORTEST))].sort((a, b) => b.length - a.length);
}

/** Masks secrets. No check prints one on purpose, but error messages of clients and servers may contain one. */
export function createRedaction(secrets: readonly string[]): (text: string) => string {
  return (text) =>
    secrets
      .reduce((left, secret) => left.replaceAll(secret, "***"), text)
      .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@]+@/gi, "$1:***@");
}

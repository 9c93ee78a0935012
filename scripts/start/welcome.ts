import { sep } from "node:path";
import type { Running } from "./entry.ts";
import type { DemoKeys } from "./keys.ts";

export interface WelcomeFacts {
  running: Pick<Running, "url" | "metricsPort">;
  keys: DemoKeys;
  /** Folder of all data that is kept. */
  home: string;
  /** Folder of PostgreSQL's data; null when the database is the user's own. */
  postgresFolder: string | null;
}

/** Text printed once everything is up. */
export function welcome({ running, keys, home, postgresFolder }: WelcomeFacts): string {
  const isOutside = postgresFolder !== null && !`${postgresFolder}${sep}`.startsWith(`${home}${sep}`);
  const folders = isOutside ? `${home}, PostgreSQL's in ${postgresFolder}` : home;
  const signIn =
    keys.sign_in === undefined
      ? `portal:       no sign-in is kept with these keys; without ${home}/keys-*.json a new team has one\n`
      : `portal:       sign in as ${keys.sign_in.email}, password ${keys.sign_in.password}\n`;
  return `
rcpt is up:   ${running.url}   (metrics on port ${running.metricsPort})
live key:     ${keys.live_key}
test key:     ${keys.test_key}
${signIn}
Try it with the test key, which never touches the network:
  curl -s -H "Authorization: Bearer ${keys.test_key}" "${running.url}/v1/verify?email=valid@example.com"

Documents:            ${running.url}/docs
The API's reference:  ${running.url}/docs/reference

Stop it with Ctrl-C; the data stays in ${folders}.
`;
}

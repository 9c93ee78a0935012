import type { Config } from "../config/config.ts";
import { localUrl } from "../config/local-url.ts";
import { createSecretBox, type SecretBox } from "../platform/secret-box.ts";

/** null: no mail is sent. The configuration sees to it that there is a key when there is a mail server. */
export function createMailSecretBox(config: Config): SecretBox | null {
  return config.mail === null || config.secretsKey === null ? null : createSecretBox(config.secretsKey);
}

/** Base URL of links in mails. */
export function portalBaseUrl(config: Config): string {
  return config.http.publicUrl ?? localUrl(config.http.host, config.http.port);
}

import type { Config } from "../../config/config.ts";

/** What this deployment offers without signing in. */
export interface SignInOptions {
  registration: Config["registration"];
  /** Mail is sent: a forgotten password can be replaced. */
  password_reset: boolean;
}

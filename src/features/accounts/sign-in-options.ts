import type { Config } from "../../config/config.ts";

/** What somebody who is not signed in may do on this deployment. */
export interface SignInOptions {
  registration: Config["registration"];
  /** Mail is sent: a forgotten password can be replaced. */
  password_reset: boolean;
}

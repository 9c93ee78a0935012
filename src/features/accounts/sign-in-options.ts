import type { Config } from "../../config/config.ts";

/** The deployment's options for people who are not signed in. */
export interface SignInOptions {
  registration: Config["registration"];
  /** Mail is sent: a forgotten password can be replaced. */
  password_reset: boolean;
}

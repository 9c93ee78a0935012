import type { SecureContext } from "node:tls";
import type { HostAccount } from "./account.ts";
import type { Greylist, Handler, HostProfile, Moment } from "./profile.ts";

/** State and settings that a host passes to each of its sessions. */
export interface SessionContext {
  profile: HostProfile;
  account: HostAccount;
  greylist: Greylist;
  secureContext: SecureContext;
  dripIntervalMs: number | null;
  /** Behaviour set by a test while the world runs; it goes before the profile's. */
  overrides: Map<Moment, Handler>;
  isHeld(moment: Moment): boolean;
  changed(): void;
}

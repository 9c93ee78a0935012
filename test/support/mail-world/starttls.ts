import { type Action, DROP, SILENCE, say, sayAndClose } from "./action.ts";
import type { HostProfile } from "./profile.ts";

const READY = "220 2.0.0 Ready to start TLS";

/** Sent in place of the server's part of the handshake. */
export const NO_RECORD = sayAndClose("this is no TLS record");

/** The replies to STARTTLS, in order, and the next state: clear text, a TLS handshake, or a spoilt one. */
export function answerStartTls(mode: HostProfile["starttls"]): {
  actions: Action[];
  next: "clear" | "handshake" | "spoilt";
} {
  switch (mode) {
    case undefined:
      return { actions: [say("502 5.5.1 Error: command not implemented")], next: "clear" };
    case "works":
      return { actions: [say(READY)], next: "handshake" };
    case "injects":
      return { actions: [say(READY, "250 2.1.0 Ok", "250 2.1.5 Ok")], next: "handshake" };
    case "refused":
      return { actions: [say("454 4.7.0 TLS not available due to local problem")], next: "clear" };
    case "garbage":
      return { actions: [say(READY)], next: "spoilt" };
    case "silent":
      return { actions: [say(READY), SILENCE], next: "clear" };
    case "drops":
      return { actions: [DROP], next: "clear" };
  }
}

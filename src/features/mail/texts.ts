import { LIMITS } from "../../config/limits/limits.ts";
import type { MemberRole } from "../identity/actor.ts";
import type { Mail } from "./queue.ts";

/**
 * The texts of mails. Plain text. The only part that a user chooses is the name of a team: otherwise anyone who may invite
 * could make us mail any text to any address.
 */

export interface LinkParts {
  token: string;
  /** Address of the user that the link is sent to: the page shows it, so that a password manager keeps the password under it. */
  email: string;
  /** The name of the team that the page shows; null: it shows none. */
  team?: string | null;
}

/** URL of a page of the portal. Its parts are after `#`, which browsers do not send, so that no log contains them. */
export function portalLink(
  baseUrl: string,
  page: "accept-invite" | "confirm-registration" | "reset-password",
  { token, email, team }: LinkParts,
): string {
  const url = new URL(page, baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`);
  const parts = new URLSearchParams({ token, email });
  if (team != null) parts.set("team", team);
  url.hash = parts.toString();
  return url.href;
}

/** The name as a mail may show it; null for one that reads like a link, or is too long. */
export function mailableName(name: string): string | null {
  const line = name.replace(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ").trim();
  const looksLikeLink = /[/\\@:]|[\p{L}\p{N}]\s?[.\u2024\u3002\uff0e\uff61]\s?[\p{L}\p{N}]/u.test(line);
  return line === "" || line.length > LIMITS.mail.teamNameChars || looksLikeLink ? null : line;
}

const withArticle = (role: MemberRole) => (role === "member" ? `a ${role}` : `an ${role}`);

export function invitationMail(invite: {
  to: string;
  teamName: string;
  role: MemberRole;
  link: string;
  token: string;
  expiresAt: Date;
}): Mail {
  const name = mailableName(invite.teamName);
  const team = name === null ? "a team" : `the team "${name}"`;
  return {
    to: invite.to,
    subject: "Invitation to a team",
    text: [
      `You are invited to join ${team}, an account for e-mail verification, as ${withArticle(invite.role)}.`,
      "",
      "To accept, open this link:",
      "",
      invite.link,
      "",
      "or send this token to POST /v1/auth/accept-invite:",
      "",
      invite.token,
      "",
      `It is good for one use until ${invite.expiresAt.toISOString()}. If you did not expect this, ignore it:`,
      "nothing happens without you.",
      "",
    ].join("\n"),
  };
}

export function resetMail(reset: { to: string; link: string; token: string }): Mail {
  const minutes = LIMITS.portal.resetTtlMs / 60_000;
  return {
    to: reset.to,
    subject: "Choose a new password",
    text: [
      "Somebody, probably you, asked for a new password for the account of this address.",
      "",
      "To choose one, open this link:",
      "",
      reset.link,
      "",
      "or send this token to POST /v1/auth/password-reset/confirm:",
      "",
      reset.token,
      "",
      `It is good for one use within ${minutes} minutes. If it was not you, ignore it: your password stays as it is.`,
      "",
    ].join("\n"),
  };
}

/** Names no team: a registration could otherwise send any text to any address. */
export function confirmationMail(registration: { to: string; link: string; token: string }): Mail {
  const hours = LIMITS.portal.registrationTtlMs / 3_600_000;
  return {
    to: registration.to,
    subject: "Confirm your address",
    text: [
      "Somebody, probably you, asked for an account for e-mail verification with this address.",
      "",
      "To confirm it, open this link and enter the password that you chose:",
      "",
      registration.link,
      "",
      "or send this token with the password to POST /v1/auth/register/confirm:",
      "",
      registration.token,
      "",
      `It is good for one use within ${hours} hours. If it was not you, ignore it: without the password no account is made.`,
      "",
    ].join("\n"),
  };
}

export function accountExistsMail({ to }: { to: string }): Mail {
  return {
    to,
    subject: "You already have an account",
    text: [
      "Somebody, probably you, asked for an account for e-mail verification with this address. It has one already.",
      "",
      "Sign in (POST /v1/auth/login), or ask for a new password (POST /v1/auth/password-reset).",
      "",
      "If it was not you, ignore this: nothing has changed.",
      "",
    ].join("\n"),
  };
}

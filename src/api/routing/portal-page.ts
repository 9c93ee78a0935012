import { createHash } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";

/** A page that a mailed link leads to: one form, which sends the token of the link and a password to the API. */
export interface PortalPage {
  html: string;
  /** Lets the page run its own script, and call the API it came from; nothing else. */
  contentSecurityPolicy: string;
}

interface PageTexts {
  title: string;
  /** What the password is for. */
  hint: string;
  action: string;
  /** The route of the API, relative to the page. */
  endpoint: string;
  /** The name of the password in the body of that route. */
  field: "password" | "new_password";
  done: string;
}

/**
 * The token stands behind `#`, so that it is in no request, and leaves the address bar and the history at once. Whatever
 * the API answers is shown as text, never as markup. The page works below any path: its addresses are relative.
 */
const SCRIPT = `"use strict";
const form = document.querySelector("form");
const output = document.querySelector("output");
const token = new URLSearchParams(location.hash.slice(1)).get("token") || "";
history.replaceState(null, "", location.pathname);
if (token === "") output.textContent = "This page needs the whole link of the mail.";
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  output.textContent = "One moment…";
  const body = JSON.stringify({ token, [form.dataset.field]: form.elements.namedItem("password").value });
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(form.dataset.endpoint, { method: "POST", headers, body });
    const answer = response.status === 204 ? {} : await response.json();
    if (!response.ok) throw new Error(answer.detail || "It did not work.");
    form.hidden = true;
    const lines = [form.dataset.done];
    if (answer.team) lines.push("Team: " + answer.team.name);
    if (answer.session) lines.push("Session, shown once: " + answer.session.token);
    output.textContent = lines.join("\\n");
  } catch (error) {
    output.textContent = error.message;
    button.disabled = false;
  }
});
`;

const STYLE = `body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem; }
label, input { display: block; width: 100%; box-sizing: border-box; }
input, button { font: inherit; padding: 0.5rem; margin: 0.5rem 0 1rem; }
output { display: block; white-space: pre-wrap; overflow-wrap: anywhere; }
`;

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The words are ours: nothing in them needs escaping. */
function page(words: PageTexts): PortalPage {
  const charsMax = 2 * LIMITS.portal.passwordCharsMax;
  const kind = words.field === "password" ? "current-password" : "new-password";
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${words.title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${words.title}</h1>
<form data-endpoint="${words.endpoint}" data-field="${words.field}" data-done="${words.done}">
<label for="password">${words.hint}</label>
<input id="password" name="password" type="password" maxlength="${charsMax}" autocomplete="${kind}" required>
<button>${words.action}</button>
</form>
<output aria-live="polite"></output>
<noscript>This page needs JavaScript. The API does not: send the token of the mail to POST ${words.endpoint}.</noscript>
<script>${SCRIPT}</script>
</body>
</html>
`;
  return { html, contentSecurityPolicy: CONTENT_SECURITY_POLICY };
}

export const ACCEPT_INVITE_PAGE = page({
  title: "Accept an invitation",
  hint: `The password of your account; or, when you have none, one of ${LIMITS.portal.passwordCharsMin} characters or more`,
  action: "Accept",
  endpoint: "v1/auth/accept-invite",
  field: "password",
  done: "You are a member now.",
});

export const CONFIRM_REGISTRATION_PAGE = page({
  title: "Confirm your address",
  hint: "The password that you registered with",
  action: "Confirm",
  endpoint: "v1/auth/register/confirm",
  field: "password",
  done: "Your account is made.",
});

export const RESET_PASSWORD_PAGE = page({
  title: "Choose a new password",
  hint: `${LIMITS.portal.passwordCharsMin} characters or more`,
  action: "Set the password",
  endpoint: "v1/auth/password-reset/confirm",
  field: "new_password",
  done: "Your password is set. All sessions have ended: sign in with it.",
});

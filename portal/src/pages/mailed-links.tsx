import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { api } from "../api/client.ts";
import { forgetSession } from "../api/session.ts";
import { takeLinkToken } from "../api/sign-in.ts";
import { Button } from "../components/button.tsx";
import { Entrance } from "../components/entrance.tsx";
import { Field } from "../components/field.tsx";
import { Failure, Notice } from "../components/notice.tsx";
import { useForm } from "../components/use-form.ts";

interface LinkForm {
  title: string;
  /** Purpose of the password. */
  label: string;
  hint?: ReactNode;
  autoComplete: "current-password" | "new-password";
  action: string;
  /** The field of the API that the password is sent as. */
  path: "password" | "new_password";
  send(token: string, password: string): Promise<void>;
}

/** The page of a mailed link: the token of the link, and a password. */
function MailedLink({ title, label, hint, autoComplete, action, path, send }: LinkForm) {
  const [token] = useState(takeLinkToken);
  const form = useForm({ password: "" }, ({ password }) => send(token, password), [path]);
  if (token === "")
    return (
      <Entrance title={title}>
        <Notice kind="failure">This page needs the whole link of the mail: open it from there.</Notice>
      </Entrance>
    );
  return (
    <Entrance title={title}>
      <form className="card" onSubmit={form.submit}>
        <Field
          label={label}
          type="password"
          autoComplete={autoComplete}
          required
          {...(hint === undefined ? {} : { hint })}
          {...form.field("password", path)}
        />
        <Failure error={form.error} />
        <Button type="submit" look="primary" busy={form.busy}>
          {action}
        </Button>
      </form>
    </Entrance>
  );
}

/** The page of a link that begins a session, and leads on to the portal. */
function SignInLink({ send, ...form }: Omit<LinkForm, "path" | "autoComplete">) {
  const navigate = useNavigate();
  async function sendAndGoOn(token: string, password: string): Promise<void> {
    await send(token, password);
    forgetSession();
    await navigate({ to: "/" });
  }
  return <MailedLink {...form} autoComplete="current-password" path="password" send={sendAndGoOn} />;
}

export function AcceptInvitePage() {
  return (
    <SignInLink
      title="Accept an invitation"
      label="Password"
      hint="That of your account; or, if you have none, a new one of 12 characters or more."
      action="Join the team"
      send={async (token, password) => {
        await api.POST("/v1/auth/accept-invite", { body: { token, password } });
      }}
    />
  );
}

export function ConfirmRegistrationPage() {
  return (
    <SignInLink
      title="Confirm your address"
      label="The password that you registered with"
      action="Confirm"
      send={async (token, password) => {
        await api.POST("/v1/auth/register/confirm", { body: { token, password } });
      }}
    />
  );
}

export function ResetPasswordPage() {
  const [isDone, setDone] = useState(false);
  if (isDone)
    return (
      <Entrance title="Your password is set">
        <Notice kind="success">All sessions have ended.</Notice>
        <Link to="/sign-in">Sign in with it</Link>
      </Entrance>
    );
  return (
    <MailedLink
      title="Choose a new password"
      label="New password"
      hint="12 characters or more; a few words will do."
      autoComplete="new-password"
      action="Set the password"
      path="new_password"
      send={async (token, password) => {
        await api.POST("/v1/auth/password-reset/confirm", { body: { token, new_password: password } });
        forgetSession();
        setDone(true);
      }}
    />
  );
}

export function ForgotPasswordPage() {
  const [mailedTo, setMailedTo] = useState<string | null>(null);
  const form = useForm({ email: "" }, async (body) => {
    await api.POST("/v1/auth/password-reset", { body });
    setMailedTo(body.email);
  });
  return (
    <Entrance title="Forgot the password?">
      {mailedTo === null ? (
        <form className="card" onSubmit={form.submit}>
          <Field label="Email" type="email" autoComplete="username" required {...form.field("email")} />
          <Failure error={form.error} />
          <Button type="submit" look="primary" busy={form.busy}>
            Mail me a link
          </Button>
        </form>
      ) : (
        <Notice kind="success">
          If <strong className="wrap-anywhere">{mailedTo}</strong> has an account, a mail with a link for a
          new password is on its way.
        </Notice>
      )}
      <Link to="/sign-in">Back to sign in</Link>
    </Entrance>
  );
}

import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { api, dataOf } from "../api/client.ts";
import { forgetSession } from "../api/session.ts";
import { takeLinkToken } from "../api/sign-in.ts";
import { Button } from "../components/button.tsx";
import { Entrance } from "../components/entrance.tsx";
import { AddressText, ForeignText, shownText } from "../components/foreign-text.tsx";
import { Field } from "../components/forms/field.tsx";
import { PasswordField } from "../components/forms/password-field.tsx";
import { useForm } from "../components/forms/use-form.ts";
import { Failure, Notice } from "../components/notice.tsx";
import { type LinkNames, linkNames } from "../words/link-names.ts";

/** Takes the link out of the address bar. */
const takeLink = () => ({ names: linkNames(location.hash), token: takeLinkToken() });

interface LinkForm {
  title: string;
  /** Above the form. */
  intro?: (names: LinkNames) => ReactNode;
  /** In the form, before the password. */
  children?: ReactNode;
  /** Purpose of the password. */
  label: string;
  hint?: ReactNode;
  autoComplete: "current-password" | "new-password";
  action: string;
  /** The field of the API that the password is sent as. */
  path: "password" | "new_password";
  send(token: string, password: string, names: LinkNames): Promise<void>;
}

/** The page of a mailed link: the token of the link, and a password. */
function MailedLinkPage({ title, intro, children, label, hint, autoComplete, action, path, send }: LinkForm) {
  const [{ names, token }] = useState(takeLink);
  const form = useForm({ password: "" }, ({ password }) => send(token, password, names), [path]);
  if (token === "")
    return (
      <Entrance title={title}>
        <Notice kind="failure">This page needs the whole link of the mail: open it from there.</Notice>
      </Entrance>
    );
  return (
    <Entrance title={title}>
      {intro?.(names)}
      <form className="card" onSubmit={form.submit}>
        {children}
        {/* A password manager keeps the password under this address, or finds it there. */}
        {names.email !== null && (
          <Field
            label="Email"
            type="email"
            autoComplete="username"
            readOnly
            value={shownText(names.email)}
            onChange={() => undefined}
          />
        )}
        <PasswordField
          label={label}
          autoComplete={autoComplete}
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

type SignInLinkForm = Omit<LinkForm, "path" | "send"> & {
  /** @returns the address of the account that is signed in */
  send(token: string, password: string): Promise<string>;
};

/** The page of a link that begins a session, and leads on to the portal. */
function SignInLink({ send, ...form }: SignInLinkForm) {
  const navigate = useNavigate();
  const [other, setOther] = useState<{ named: string; own: string } | null>(null);
  async function sendAndGoOn(token: string, password: string, { email: named }: LinkNames): Promise<void> {
    const own = await send(token, password);
    forgetSession();
    if (named === null || named.toLowerCase() === own.toLowerCase()) await navigate({ to: "/" });
    else setOther({ named, own });
  }
  if (other !== null)
    return (
      <Entrance title="You are signed in">
        <Notice>
          The account is <AddressText>{other.own}</AddressText>. The link named another address,{" "}
          <AddressText>{other.named}</AddressText>: it was changed on its way. If the account is not yours,
          sign out.
        </Notice>
        <Link to="/">Go on</Link>
      </Entrance>
    );
  return <MailedLinkPage {...form} path="password" send={sendAndGoOn} />;
}

/** Fields of the password, by whether the person has an account: the link does not know, and must not tell. */
const ACCOUNTS = {
  new: {
    choice: "I am new here",
    label: "New password",
    hint: "12 characters or more; a few words will do.",
    autoComplete: "new-password",
  },
  known: {
    choice: "I have an account here",
    label: "Password of your account",
    autoComplete: "current-password",
  },
} as const;
type Account = keyof typeof ACCOUNTS;

export function AcceptInvitePage() {
  const [account, setAccount] = useState<Account>("new");
  const { choice: _, ...password } = ACCOUNTS[account];
  return (
    <SignInLink
      title="Accept an invitation"
      intro={({ team }) =>
        team !== null && (
          <p>
            You are invited to the team{" "}
            <strong>
              <ForeignText>{team}</ForeignText>
            </strong>
            .
          </p>
        )
      }
      {...password}
      action="Join the team"
      send={async (token, password) => {
        const { user } = await dataOf(api.POST("/v1/auth/accept-invite", { body: { token, password } }));
        return user.email;
      }}
    >
      <fieldset className="stack">
        <legend className="visually-hidden">Account</legend>
        {(Object.keys(ACCOUNTS) as Account[]).map((name) => (
          <label className="check" key={name}>
            <input type="radio" name="account" checked={account === name} onChange={() => setAccount(name)} />
            {ACCOUNTS[name].choice}
          </label>
        ))}
      </fieldset>
    </SignInLink>
  );
}

export function ConfirmRegistrationPage() {
  return (
    <SignInLink
      title="Confirm your address"
      label="The password that you registered with"
      autoComplete="current-password"
      action="Confirm"
      send={async (token, password) => {
        const { user } = await dataOf(api.POST("/v1/auth/register/confirm", { body: { token, password } }));
        return user.email;
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
    <MailedLinkPage
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

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, dataOf } from "../api/client.ts";
import { forgetSession } from "../api/session.ts";
import { signInOptionsQuery } from "../api/sign-in.ts";
import { Button } from "../components/button.tsx";
import { Entrance } from "../components/entrance.tsx";
import { Field } from "../components/forms/field.tsx";
import { PasswordField } from "../components/forms/password-field.tsx";
import { useForm } from "../components/forms/use-form.ts";
import { Failure, Notice } from "../components/notice.tsx";

export function RegisterPage() {
  const navigate = useNavigate();
  const { data: options } = useQuery(signInOptionsQuery);
  const [mailedTo, setMailedTo] = useState<string | null>(null);
  const form = useForm({ email: "", password: "", team_name: "" }, async (body) => {
    const answer = await dataOf(api.POST("/v1/auth/register", { body }));
    if ("status" in answer) {
      setMailedTo(answer.email);
      return;
    }
    forgetSession();
    await navigate({ to: "/" });
  });
  if (mailedTo !== null)
    return (
      <Entrance title="Look into your mail">
        <Notice kind="success">
          A mail with a link goes to <strong className="wrap-anywhere">{mailedTo}</strong>. Open it to confirm
          the address; nothing is made before.
        </Notice>
      </Entrance>
    );
  if (options !== undefined && options.registration !== "open")
    return (
      <Entrance title="Registration is closed">
        <p>Accounts here are made by invitation, or by the operator.</p>
        <Link to="/sign-in">Sign in</Link>
      </Entrance>
    );
  return (
    <Entrance title="Make an account">
      <form className="card" onSubmit={form.submit}>
        <Field label="Email" type="email" autoComplete="username" required {...form.field("email")} />
        <PasswordField
          label="Password"
          autoComplete="new-password"
          hint="12 characters or more; a few words will do."
          {...form.field("password")}
        />
        <Field
          label="Team"
          hint="Your company or project: colleagues can be invited into it."
          autoComplete="organization"
          required
          {...form.field("team_name")}
        />
        <Failure error={form.error} />
        <Button type="submit" look="primary" busy={form.busy}>
          Make the account
        </Button>
      </form>
      <p>
        Have one? <Link to="/sign-in">Sign in</Link>
      </p>
    </Entrance>
  );
}

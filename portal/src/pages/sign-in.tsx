import { useQuery } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { api } from "../api/client.ts";
import { ensureKept, forgetSession } from "../api/session.ts";
import { signInOptionsQuery } from "../api/sign-in.ts";
import { BASE_PATH } from "../base-path.ts";
import { Button } from "../components/button.tsx";
import { Entrance } from "../components/entrance.tsx";
import { Field } from "../components/forms/field.tsx";
import { PasswordField } from "../components/forms/password-field.tsx";
import { useForm } from "../components/forms/use-form.ts";
import { Failure } from "../components/notice.tsx";

export function SignInPage() {
  const { history } = useRouter();
  const { next, team } = useSearch({ from: "/sign-in" });
  const { data: options } = useQuery(signInOptionsQuery);
  const form = useForm({ email: "", password: "" }, async (entered) => {
    const body = team === undefined ? entered : { ...entered, team_id: team };
    await api.POST("/v1/auth/login", { body });
    forgetSession();
    await ensureKept();
    history.push(BASE_PATH + (next ?? "/"));
  });
  return (
    <Entrance title="Sign in">
      <form className="card" onSubmit={form.submit}>
        <Field label="Email" type="email" autoComplete="username" required {...form.field("email")} />
        <PasswordField label="Password" autoComplete="current-password" {...form.field("password")} />
        <Failure error={form.error} />
        <Button type="submit" look="primary" busy={form.busy}>
          Sign in
        </Button>
      </form>
      {team !== undefined && (
        <p className="muted">
          This leads to the team of the page that you come from. Are you no longer in it?{" "}
          <Link to="/sign-in" search={{}}>
            Sign in to your first team
          </Link>
        </p>
      )}
      {options?.password_reset === true && (
        <p>
          <Link to="/forgot-password">Forgot the password?</Link>
        </p>
      )}
      {options?.password_reset === false && (
        <p className="muted">
          Forgot the password? The operator of this service gives you a link for a new one.
        </p>
      )}
      {options?.registration === "open" && (
        <p>
          No account yet? <Link to="/register">Register</Link>
        </p>
      )}
      {options?.registration === "invite" && <p className="muted">New here? A colleague can invite you.</p>}
      {options?.registration === "closed" && (
        <p className="muted">New here? The operator of this service makes accounts.</p>
      )}
    </Entrance>
  );
}

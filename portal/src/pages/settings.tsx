import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client.ts";
import { useIdentity } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { AddressText, shownText } from "../components/foreign-text.tsx";
import { PasswordField } from "../components/forms/password-field.tsx";
import { Select } from "../components/forms/select.tsx";
import { useForm } from "../components/forms/use-form.ts";
import { Failure, Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page-head.tsx";
import { OWN_ZONE, showTimesInUtc, timesInUtc } from "../components/time.tsx";

function ChangePassword() {
  const { user } = useIdentity();
  const [isDone, setDone] = useState(false);
  const form = useForm({ current_password: "", new_password: "" }, async (body) => {
    setDone(false);
    await api.POST("/v1/auth/password", { body });
    setDone(true);
    form.reset();
  });
  return (
    <section className="card" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <form className="stack" onSubmit={form.submit}>
        {/* For password managers alone: it stands above. */}
        <input type="email" autoComplete="username" readOnly hidden value={user?.email ?? ""} />
        <PasswordField
          label="Current password"
          autoComplete="current-password"
          {...form.field("current_password")}
        />
        <PasswordField
          label="New password"
          autoComplete="new-password"
          hint="12 characters or more; a few words will do."
          {...form.field("new_password")}
        />
        <Failure error={form.error} />
        {isDone && <Notice kind="success">It is changed; your other sessions have ended.</Notice>}
        <div className="row">
          <Button type="submit" look="primary" busy={form.busy}>
            Change
          </Button>
        </div>
      </form>
    </section>
  );
}

/** Hovering over a time shows the other one; by keyboard or touch nothing hovers. */
function ChooseTimes() {
  const isUtc = timesInUtc.use();
  return (
    <section className="card" aria-labelledby="times">
      <h2 id="times">Times</h2>
      <Select
        label="Show times"
        hint="In this browser. Days of the usage and of the quota are UTC in any case."
        value={isUtc ? "utc" : "own"}
        onChange={(value) => showTimesInUtc(value === "utc")}
        options={[
          ["own", `in your own time zone (${OWN_ZONE})`],
          ["utc", "in UTC"],
        ]}
      />
    </section>
  );
}

/** Settings of the person, independent of the team. */
export function SettingsPage() {
  const { user, teams } = useIdentity();
  return (
    <>
      <PageHead title="Settings" />
      <section className="card" aria-labelledby="account">
        <h2 id="account">Account</h2>
        <dl className="facts">
          <dt>Email</dt>
          <dd>
            <AddressText>{user?.email ?? ""}</AddressText>
          </dd>
          <dt>Teams</dt>
          <dd>{teams.map(({ name, role }) => `${shownText(name)} (${role})`).join(", ")}</dd>
        </dl>
        <p className="muted">
          To invite members, or to leave, rename or delete a team, see <Link to="/team">Team</Link>.
        </p>
      </section>
      <ChangePassword />
      <ChooseTimes />
    </>
  );
}

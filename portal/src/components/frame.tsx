import { useMutation } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { signOut, useHasRole, useIdentity } from "../api/session.ts";
import { PAGES } from "../pages.ts";
import { Button } from "./button.tsx";
import { ForeignText } from "./foreign-text.tsx";
import { Failure } from "./notice.tsx";

function Account() {
  const { user, team, role } = useIdentity();
  const leaving = useMutation({ mutationFn: signOut });
  return (
    <div className="account">
      <span className="wrap-anywhere">
        <strong>
          <ForeignText>{team.name}</ForeignText>
        </strong>
        <br />
        <ForeignText>{user?.email ?? ""}</ForeignText> <span className="muted">({role})</span>
      </span>
      <Button onClick={() => leaving.mutate()} busy={leaving.isPending}>
        Sign out
      </Button>
      <Failure error={leaving.error} />
    </div>
  );
}

/** The frame of all pages for signed-in people: navigation, the team, and signing out. */
export function Frame() {
  const { operator } = useIdentity();
  const isAdmin = useHasRole("admin");
  const pages = PAGES.filter((page) => (operator && isAdmin) || !("operator" in page));
  return (
    <div className="frame">
      <a className="skip visually-hidden" href="#content">
        Skip to the content
      </a>
      <nav className="sidebar" aria-label="Pages">
        <Link to="/" className="brand">
          rcpt
        </Link>
        <ul className="pages">
          {pages.map(({ to, title }) => (
            <li key={to}>
              <Link to={to}>{title}</Link>
            </li>
          ))}
        </ul>
        <Account />
      </nav>
      <main className="content" id="content" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

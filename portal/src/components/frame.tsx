import { useMutation } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
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
      <span className="account-name">
        <strong>
          <ForeignText>{team.name}</ForeignText>
        </strong>{" "}
        <span>
          <ForeignText>{user?.email ?? ""}</ForeignText> <span className="muted">({role})</span>
        </span>
      </span>
      <Button onClick={() => leaving.mutate()} busy={leaving.isPending}>
        Sign out
      </Button>
      <Failure error={leaving.error} />
    </div>
  );
}

/** A bar of pages that scrolls in narrow windows: it begins with the page that is shown in sight. */
function useShownPage() {
  const bar = useRef<HTMLUListElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path makes another link the current one.
  useEffect(() => {
    const list = bar.current;
    const link = list?.querySelector<HTMLElement>('[aria-current="page"]');
    if (list == null || link == null) return;
    const middle = link.offsetLeft + link.offsetWidth / 2 - list.offsetLeft;
    list.scrollTo({ left: middle - list.clientWidth / 2 });
  }, [path]);
  return bar;
}

/** The frame of all pages for signed-in people: navigation, the team, and signing out. */
export function Frame() {
  const { operator } = useIdentity();
  const isAdmin = useHasRole("admin");
  const bar = useShownPage();
  const pages = PAGES.filter((page) => (operator && isAdmin) || !("operator" in page));
  return (
    <div className="frame">
      <a className="skip visually-hidden" href="#content">
        Skip to the content
      </a>
      <nav className="sidebar" aria-label="Pages">
        <div className="sidebar-content">
          <Link to="/" className="brand">
            rcpt
          </Link>
          <ul className="pages" ref={bar}>
            {pages.map(({ to, title }) => (
              <li key={to}>
                <Link to={to}>{title}</Link>
              </li>
            ))}
          </ul>
          <Account />
        </div>
      </nav>
      <main className="content" id="content" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { requireSession } from "./api/session.ts";
import { BASE_PATH } from "./base-path.ts";
import { Frame } from "./components/frame.tsx";
import { Loading, QUIET_MS } from "./components/loading.tsx";
import { Failure } from "./components/notice.tsx";
import { SignInPage } from "./pages/sign-in.tsx";

function Broken({ error }: ErrorComponentProps) {
  return <Failure error={error} />;
}

function NotFound() {
  return (
    <p>
      There is no such page. <Link to="/">Go to the first one.</Link>
    </p>
  );
}

const root = createRootRoute({ notFoundComponent: NotFound });

/** Only paths of the portal itself, perhaps with a query: a link must not lead from signing in to another site. */
const isOwnAddress = (next: unknown): next is string =>
  typeof next === "string" && /^\/(?![/\\])[\w\-/]*(\?[^#\s\\]*)?$/.test(next);

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: SignInPage,
  // Parameters left out of the result would remain as they came, so `undefined` is explicit.
  validateSearch: ({ next }: Record<string, unknown>): { next?: string | undefined } => ({
    next: isOwnAddress(next) ? next : undefined,
  }),
});
const register = createRoute({
  getParentRoute: () => root,
  path: "/register",
  component: lazyRouteComponent(() => import("./pages/register.tsx"), "RegisterPage"),
});
const mailed = () => import("./pages/mailed-links.tsx");
const mailedLinks = [
  createRoute({
    getParentRoute: () => root,
    path: "/confirm-registration",
    component: lazyRouteComponent(mailed, "ConfirmRegistrationPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/accept-invite",
    component: lazyRouteComponent(mailed, "AcceptInvitePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/forgot-password",
    component: lazyRouteComponent(mailed, "ForgotPasswordPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/reset-password",
    component: lazyRouteComponent(mailed, "ResetPasswordPage"),
  }),
] as const;

/** Pages for signed-in people. */
const frame = createRoute({
  getParentRoute: () => root,
  id: "frame",
  component: Frame,
  beforeLoad: ({ location }) => requireSession(location),
});
const home = createRoute({
  getParentRoute: () => frame,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/verify" });
  },
});
const verify = createRoute({
  getParentRoute: () => frame,
  path: "/verify",
  component: lazyRouteComponent(() => import("./pages/verify/verify.tsx"), "VerifyPage"),
  validateSearch: ({ email }: Record<string, unknown>): { email?: string | undefined } => ({
    email: typeof email === "string" ? email : undefined,
  }),
});
const lists = createRoute({
  getParentRoute: () => frame,
  path: "/lists",
  component: lazyRouteComponent(() => import("./pages/lists/lists.tsx"), "ListsPage"),
});
const newList = createRoute({
  getParentRoute: () => frame,
  path: "/lists/new",
  component: lazyRouteComponent(() => import("./pages/lists/new/new-list.tsx"), "NewListPage"),
  validateSearch: ({
    upload,
    column,
  }: Record<string, unknown>): { upload?: string | undefined; column?: number | undefined } => ({
    upload: typeof upload === "string" ? upload : undefined,
    column: Number.isInteger(column) ? (column as number) : undefined,
  }),
});
const list = createRoute({
  getParentRoute: () => frame,
  path: "/lists/$id",
  component: lazyRouteComponent(() => import("./pages/lists/job.tsx"), "JobPage"),
});
const keys = createRoute({
  getParentRoute: () => frame,
  path: "/keys",
  component: lazyRouteComponent(() => import("./pages/keys/keys.tsx"), "KeysPage"),
  validateSearch: ({ env }: Record<string, unknown>): { env?: "test" | undefined } => ({
    env: env === "test" ? env : undefined,
  }),
});
const usage = createRoute({
  getParentRoute: () => frame,
  path: "/usage",
  component: lazyRouteComponent(() => import("./pages/usage/usage.tsx"), "UsagePage"),
});
const accuracy = createRoute({
  getParentRoute: () => frame,
  path: "/accuracy",
  component: lazyRouteComponent(() => import("./pages/accuracy/accuracy.tsx"), "AccuracyPage"),
});
const team = createRoute({
  getParentRoute: () => frame,
  path: "/team",
  component: lazyRouteComponent(() => import("./pages/team/team.tsx"), "TeamPage"),
});
const blocklist = createRoute({
  getParentRoute: () => frame,
  path: "/blocklist",
  component: lazyRouteComponent(() => import("./pages/domains/blocklist.tsx"), "BlocklistPage"),
});
const webhooks = createRoute({
  getParentRoute: () => frame,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("./pages/webhooks/webhooks.tsx"), "WebhooksPage"),
});
const overrides = createRoute({
  getParentRoute: () => frame,
  path: "/overrides",
  component: lazyRouteComponent(() => import("./pages/domains/overrides.tsx"), "OverridesPage"),
});
const deployment = createRoute({
  getParentRoute: () => frame,
  path: "/deployment",
  component: lazyRouteComponent(() => import("./pages/deployment/deployment.tsx"), "DeploymentPage"),
});
const billing = createRoute({
  getParentRoute: () => frame,
  path: "/billing",
  component: lazyRouteComponent(() => import("./pages/billing/billing.tsx"), "BillingPage"),
});
const settings = createRoute({
  getParentRoute: () => frame,
  path: "/settings",
  component: lazyRouteComponent(() => import("./pages/settings.tsx"), "SettingsPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    register,
    ...mailedLinks,
    frame.addChildren([
      home,
      verify,
      lists,
      newList,
      list,
      usage,
      accuracy,
      keys,
      team,
      webhooks,
      blocklist,
      overrides,
      billing,
      settings,
      deployment,
    ]),
  ]),
  basepath: BASE_PATH === "" ? "/" : BASE_PATH,
  defaultErrorComponent: Broken,
  defaultPendingComponent: () => <Loading atOnce />,
  defaultPendingMs: QUIET_MS,
  // A page that is there is not held back for the notice's sake.
  defaultPendingMinMs: 0,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

import { createRootRoute, createRoute, createRouter, Link, redirect } from "@tanstack/react-router";
import { requireSession } from "./api/session.ts";
import { BASE_PATH } from "./base-path.ts";
import { BrokenEntrance, BrokenPage } from "./components/broken.tsx";
import { Frame } from "./components/frame.tsx";
import { Loading, QUIET_MS } from "./components/loading.tsx";
import { isFileMissing, lazyPage } from "./page-files.ts";
import { SignInPage } from "./pages/sign-in.tsx";

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
  errorComponent: BrokenEntrance,
  // Parameters left out of the result would remain as they came, so `undefined` is explicit.
  validateSearch: ({
    next,
    team,
  }: Record<string, unknown>): { next?: string | undefined; team?: string | undefined } => ({
    next: isOwnAddress(next) ? next : undefined,
    team: typeof team === "string" ? team : undefined,
  }),
});
const register = createRoute({
  getParentRoute: () => root,
  path: "/register",
  component: lazyPage(() => import("./pages/register.tsx"), "RegisterPage"),
  errorComponent: BrokenEntrance,
});
const mailed = () => import("./pages/mailed-links.tsx");
const mailedLinks = [
  createRoute({
    getParentRoute: () => root,
    path: "/confirm-registration",
    component: lazyPage(mailed, "ConfirmRegistrationPage"),
    errorComponent: BrokenEntrance,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/accept-invite",
    component: lazyPage(mailed, "AcceptInvitePage"),
    errorComponent: BrokenEntrance,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/forgot-password",
    component: lazyPage(mailed, "ForgotPasswordPage"),
    errorComponent: BrokenEntrance,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/reset-password",
    component: lazyPage(mailed, "ResetPasswordPage"),
    errorComponent: BrokenEntrance,
  }),
] as const;

/** Pages for signed-in people. */
const frame = createRoute({
  getParentRoute: () => root,
  id: "frame",
  component: Frame,
  errorComponent: BrokenEntrance,
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
  component: lazyPage(() => import("./pages/verify/verify.tsx"), "VerifyPage"),
  validateSearch: ({ email }: Record<string, unknown>): { email?: string | undefined } => ({
    email: typeof email === "string" ? email : undefined,
  }),
});
const lists = createRoute({
  getParentRoute: () => frame,
  path: "/lists",
  component: lazyPage(() => import("./pages/lists/lists.tsx"), "ListsPage"),
});
const newList = createRoute({
  getParentRoute: () => frame,
  path: "/lists/new",
  component: lazyPage(() => import("./pages/lists/new/new-list.tsx"), "NewListPage"),
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
  component: lazyPage(() => import("./pages/lists/job.tsx"), "JobPage"),
});
const keys = createRoute({
  getParentRoute: () => frame,
  path: "/keys",
  component: lazyPage(() => import("./pages/keys/keys.tsx"), "KeysPage"),
  validateSearch: ({ env }: Record<string, unknown>): { env?: "test" | undefined } => ({
    env: env === "test" ? env : undefined,
  }),
});
const usage = createRoute({
  getParentRoute: () => frame,
  path: "/usage",
  component: lazyPage(() => import("./pages/usage/usage.tsx"), "UsagePage"),
});
const accuracy = createRoute({
  getParentRoute: () => frame,
  path: "/accuracy",
  component: lazyPage(() => import("./pages/accuracy/accuracy.tsx"), "AccuracyPage"),
});
const team = createRoute({
  getParentRoute: () => frame,
  path: "/team",
  component: lazyPage(() => import("./pages/team/team.tsx"), "TeamPage"),
});
const blocklist = createRoute({
  getParentRoute: () => frame,
  path: "/blocklist",
  component: lazyPage(() => import("./pages/domains/blocklist.tsx"), "BlocklistPage"),
});
const webhooks = createRoute({
  getParentRoute: () => frame,
  path: "/webhooks",
  component: lazyPage(() => import("./pages/webhooks/webhooks.tsx"), "WebhooksPage"),
});
const overrides = createRoute({
  getParentRoute: () => frame,
  path: "/overrides",
  component: lazyPage(() => import("./pages/domains/overrides.tsx"), "OverridesPage"),
});
const deployment = createRoute({
  getParentRoute: () => frame,
  path: "/deployment",
  component: lazyPage(() => import("./pages/deployment/deployment.tsx"), "DeploymentPage"),
});
const billing = createRoute({
  getParentRoute: () => frame,
  path: "/billing",
  component: lazyPage(() => import("./pages/billing/billing.tsx"), "BillingPage"),
});
const settings = createRoute({
  getParentRoute: () => frame,
  path: "/settings",
  component: lazyPage(() => import("./pages/settings.tsx"), "SettingsPage"),
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
  defaultErrorComponent: BrokenPage,
  defaultPendingComponent: () => <Loading atOnce />,
  defaultPendingMs: QUIET_MS,
  // A page that is there is not held back for the notice's sake.
  defaultPendingMinMs: 0,
  defaultPreload: "intent",
  scrollRestoration: true,
});

/** Loads the files of the pages that are not open: later there may be no connection, or a newer version with other files. */
async function loadOthers(): Promise<void> {
  // One after another, so that they delay nothing that the person asks for.
  for (const { options } of Object.values(router.routesById)) {
    await options.component?.preload?.();
    // The others would fail too. Opening a page says why.
    if (isFileMissing()) return;
  }
}

/** It begins after so long on a page. */
const LOAD_OTHERS_AFTER_MS = 5_000;
setTimeout(() => void loadOthers(), LOAD_OTHERS_AFTER_MS);

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

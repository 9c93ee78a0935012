/** The pages of the bar, in their order. `operator`: for the team that runs the deployment. */
export const PAGES = [
  { to: "/verify", title: "Verify" },
  { to: "/lists", title: "Lists" },
  { to: "/usage", title: "Usage" },
  { to: "/accuracy", title: "Accuracy" },
  { to: "/keys", title: "API keys" },
  { to: "/team", title: "Team" },
  { to: "/webhooks", title: "Webhooks" },
  { to: "/blocklist", title: "Blocklist" },
  { to: "/overrides", title: "Disposable domains" },
  { to: "/billing", title: "Billing" },
  { to: "/settings", title: "Settings" },
  { to: "/deployment", title: "Deployment", operator: true },
] as const;

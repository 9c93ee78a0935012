// A role that announces that it is ready, and then behaves as RCPT_TEST_ROLE_BEHAVIOUR says.
const role = process.env.ROLE;
const behaviour = process.env.RCPT_TEST_ROLE_BEHAVIOUR;
process.on("disconnect", () => process.exit(0));
if (behaviour === "refuse-to-start" && role !== "api") process.exit(3);
const lingers = behaviour === "ignore-sigterm" || behaviour === "wait-for-haste";
process.on("SIGTERM", () => lingers || process.exit(0));
process.on("message", ({ type }) => behaviour === "wait-for-haste" && type === "hurry" && process.exit(0));
const metricsPort = Number(process.env.METRICS_PORT ?? 9090);
process.send({ type: "ready", role, port: process.pid, metricsPort });
setInterval(() => undefined, 1_000);

// A role that does as RCPT_TEST_ROLE_BEHAVIOUR says, once it has said that it is ready.
const role = process.env.ROLE;
const behaviour = process.env.RCPT_TEST_ROLE_BEHAVIOUR;
process.on("disconnect", () => process.exit(0));
if (behaviour === "refuse-to-start" && role !== "api") process.exit(3);
if (behaviour !== "ignore-sigterm") process.on("SIGTERM", () => process.exit(0));
else process.on("SIGTERM", () => undefined);
const metricsPort = Number(process.env.METRICS_PORT ?? 9090);
process.send({ type: "ready", role, port: process.pid, metricsPort });
setInterval(() => undefined, 1_000);

// node health.mjs: the image's health check. Asks the metrics port, which every role has, whether the process is alive.
// Exit code 0: it is; 1: it is not, and one line says why. Reads the settings that say where that port is.
import { readFileSync } from "node:fs";
import { get } from "node:http";

const WITHIN_MS = 4_000;

function setting(name, standard) {
  const file = process.env[`${name}_FILE`];
  return process.env[name] || (file && readFileSync(file, "utf8").trim()) || standard;
}

/** A server that listens on all addresses is asked on loopback. */
function reachable(host) {
  if (host === "0.0.0.0" || host === "localhost") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

function end(why) {
  if (why !== null) process.stderr.write(`unhealthy: ${why}\n`);
  process.exit(why === null ? 0 : 1);
}

const host = reachable(setting("METRICS_HOST", "127.0.0.1"));
const port = Number(setting("METRICS_PORT", "9090"));
if (!(port > 0)) end("METRICS_PORT is 0: a health check must know the port");
const request = get({ host, port, path: "/healthz", timeout: WITHIN_MS }, (response) => {
  response.resume();
  end(response.statusCode === 200 ? null : `/healthz answered ${response.statusCode}`);
});
request.on("timeout", () => request.destroy(new Error(`no answer within ${WITHIN_MS} ms`)));
request.on("error", (error) => end(`${host}:${port}: ${error.message || error.code}`));

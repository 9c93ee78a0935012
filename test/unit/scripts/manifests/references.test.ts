import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Labels, Selector } from "../../../../scripts/manifests/documents.ts";
import { finds, set, without } from "./broken.ts";
import { containerOf, podOf, the } from "./built.ts";

/** Names of what is not there are found. */
const KEDA_FREE = "without KEDA, by an Ingress";

interface Selecting {
  selector: Selector & Labels;
  podSelector: Selector;
}
interface Serving {
  selector: Labels;
  ports: { name: string; port: number; targetPort: string }[];
}

describe("references", () =>
  finds("references", [
    [
      "a Service that selects nobody",
      (d) => {
        the<Serving>(d, "Service", "rcpt-api").spec.selector = { app: "api" };
      },
      /Service\/rcpt-api selects no pod/,
    ],
    [
      "a Service to a port that is not there",
      (d) => {
        const [port] = the<Serving>(d, "Service", "rcpt-api").spec.ports;
        assert.ok(port);
        port.targetPort = "https";
      },
      /to https, which Deployment\/rcpt-api has not/,
    ],
    [
      "a Deployment that does not select its pods",
      (d) => {
        the<Selecting>(d, "Deployment", "rcpt-bulk").spec.selector = { matchLabels: { a: "b" } } as never;
      },
      /rcpt-bulk does not select its own pods/,
    ],
    [
      "a ServiceAccount that is not there",
      without("ServiceAccount", "rcpt-relay"),
      /names the ServiceAccount/,
    ],
    [
      "a mount without a volume",
      (d) => {
        podOf(d, "rcpt-api").volumes?.shift();
      },
      /mounts the volume tmp/,
    ],
    [
      "a volume that nothing mounts",
      (d) => {
        podOf(d, "rcpt-api").volumes?.push({ name: "spare" });
      },
      /has the volume spare/,
    ],
    [
      "a probe of a port that is not there",
      (d) => {
        containerOf(d, "rcpt-relay").livenessProbe = { httpGet: { path: "/healthz", port: "http" } };
      },
      /rcpt-relay probes port http/,
    ],
    [
      "a spread over other pods",
      (d) => {
        const [spread] = podOf(d, "rcpt-api").topologySpreadConstraints ?? [];
        assert.ok(spread);
        spread.labelSelector = { matchLabels: { "app.kubernetes.io/component": "bulk" } };
      },
      /spreads other pods/,
    ],
    [
      "a budget for nobody",
      (d) => {
        the<Selecting>(d, "PodDisruptionBudget", "rcpt-bulk").spec.selector = {
          matchLabels: { a: "b" },
        } as never;
      },
      /PodDisruptionBudget\/rcpt-bulk selector selects no pod/,
    ],
    [
      "a monitor of a port that is not there",
      (d) => {
        const { podMetricsEndpoints } = the<{ podMetricsEndpoints: { port: string }[] }>(
          d,
          "PodMonitor",
          "rcpt-bulk",
        ).spec;
        podMetricsEndpoints[0] = { port: "http" };
      },
      /scrapes port http, which Deployment\/rcpt-bulk has not/,
    ],
    [
      "a policy for nobody",
      (d) => {
        the<Selecting>(d, "NetworkPolicy", "rcpt-probing").spec.podSelector = { matchLabels: { a: "b" } };
      },
      /rcpt-probing podSelector selects no pod/,
    ],
    [
      "a policy that opens a port by a name that nobody has",
      (d) => {
        const { ingress } = the<{ ingress: { ports: { port: string }[] }[] }>(
          d,
          "NetworkPolicy",
          "rcpt-api-from",
        ).spec;
        ingress[0] = { ports: [{ port: "web" }] };
      },
      /names port web/,
    ],
    [
      "a route to a Service that is not there",
      without("Service", "rcpt-api"),
      /HTTPRoute\/rcpt-api sends to the Service/,
    ],
    [
      "a route to a port that is not there",
      (d) => {
        const { rules } = the<{ rules: { backendRefs: { port: number }[] }[] }>(
          d,
          "HTTPRoute",
          "rcpt-api",
        ).spec;
        set(rules[0]?.backendRefs[0], { port: 8080 });
      },
      /HTTPRoute\/rcpt-api sends to port 8080/,
    ],
    [
      "a ConfigMap that is not there",
      (d) => {
        containerOf(d, "rcpt-api").envFrom = [{ configMapRef: { name: "rcpt-settings" } }];
      },
      /reads ConfigMap rcpt-settings, which is not there/,
    ],
    [
      "a secret's key that no operator is told of",
      (d) => {
        const secretKeyRef = { name: "rcpt-secrets", key: "PGPASSWORD" };
        containerOf(d, "rcpt-api").env?.push({ name: "PGPASSWORD", valueFrom: { secretKeyRef } });
      },
      /reads PGPASSWORD of Secret rcpt-secrets/,
    ],
    [
      "a secret of KEDA's that nobody makes",
      (d) => {
        const { spec } = the<{ secretTargetRef: { name: string; key: string }[] }>(
          d,
          "TriggerAuthentication",
          "rcpt",
        );
        spec.secretTargetRef.push({ name: "redis", key: "password" });
      },
      /TriggerAuthentication\/rcpt-redis reads Secret redis/,
    ],
    [
      "an ExternalSecret of another name",
      (d) => {
        the<{ target: { name: string } }>(d, "ExternalSecret", "rcpt-secrets").spec.target.name = "rcpt";
      },
      /makes the Secret rcpt,/,
    ],
  ]));

describe("references of an Ingress", () =>
  finds(
    "references",
    [
      [
        "to a Service that is not there",
        without("Service", "rcpt-api"),
        /Ingress\/rcpt-api sends to the Service/,
      ],
    ],
    KEDA_FREE,
  ));

describe("references within what makes its secrets", () =>
  finds(
    "references",
    [
      [
        "a key that the secret has not",
        (d) => {
          const { data = {} } = the(d, "Secret", "rcpt-secrets");
          delete data.DATABASE_URL;
        },
        /reads DATABASE_URL of Secret rcpt-secrets-/,
      ],
      ["a StatefulSet's Service", without("Service", "valkey"), /names the Service valkey/],
    ],
    "local",
  ));

describe("policies of a gateway", () =>
  finds(
    "references",
    [
      [
        "of a route that is not there",
        without("HTTPRoute", "rcpt-api"),
        /ClientSettingsPolicy\/rcpt-api is for HTTPRoute rcpt-api, which is not there/,
      ],
      [
        "of a Service that is not there",
        (d) =>
          set(the<object>(d, "UpstreamSettingsPolicy", "rcpt-api").spec, {
            targetRefs: [{ group: "core", kind: "Service", name: "api" }],
          }),
        /UpstreamSettingsPolicy\/rcpt-api is for Service api, which is not there/,
      ],
    ],
    "production on NGINX, with a quota",
  ));

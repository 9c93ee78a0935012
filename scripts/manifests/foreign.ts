import {
  array,
  boolean,
  type GenericSchema,
  literal,
  optional,
  picklist,
  pipe,
  record,
  regex,
  strictObject,
  string,
} from "valibot";
import type { Document } from "./documents.ts";

/**
 * Kinds of gateways, for which no package has a schema: the fields that we set. A field that is not here is a finding. crds.ts holds
 * the objects of Envoy Gateway and Cilium to their CRDs, where Go is installed. Those of NGINX Gateway Fabric were compared by hand with
 * the CRDs of 2.6.7.
 */

const metadata = strictObject({
  name: string(),
  namespace: optional(string()),
  labels: optional(record(string(), string())),
  annotations: optional(record(string(), string())),
});
const duration = pipe(string(), regex(/^\d{1,4}(ms|s|m|h)$/));
const target = (group: string, kind: string) =>
  strictObject({ group: literal(group), kind: literal(kind), name: string() });
const selector = strictObject({ matchLabels: record(string(), string()) });
const port = strictObject({ port: pipe(string(), regex(/^\d{1,5}$/)), protocol: picklist(["TCP", "UDP"]) });

/** @param type `apiVersion kind` */
function entry(type: string, spec: GenericSchema): [string, GenericSchema] {
  const [apiVersion = "", kind = ""] = type.split(" ");
  return [type, strictObject({ apiVersion: literal(apiVersion), kind: literal(kind), metadata, spec })];
}

const SCHEMAS: ReadonlyMap<string, GenericSchema> = new Map([
  entry(
    "gateway.envoyproxy.io/v1alpha1 BackendTrafficPolicy",
    strictObject({
      targetRefs: array(target("gateway.networking.k8s.io", "HTTPRoute")),
      timeout: strictObject({ http: strictObject({ connectionIdleTimeout: duration }) }),
    }),
  ),
  entry(
    "gateway.nginx.org/v1alpha1 UpstreamSettingsPolicy",
    strictObject({
      targetRefs: array(target("core", "Service")),
      keepAlive: strictObject({ timeout: duration }),
    }),
  ),
  entry(
    "gateway.nginx.org/v1alpha1 ClientSettingsPolicy",
    strictObject({
      targetRef: target("gateway.networking.k8s.io", "HTTPRoute"),
      body: strictObject({ maxSize: pipe(string(), regex(/^\d{1,4}[kmg]?$/)) }),
    }),
  ),
  entry(
    "gateway.nginx.org/v1alpha1 ProxySettingsPolicy",
    strictObject({
      targetRefs: array(target("gateway.networking.k8s.io", "HTTPRoute")),
      buffering: strictObject({ disable: boolean() }),
      timeout: strictObject({ read: duration, send: duration }),
    }),
  ),
  entry(
    "cilium.io/v2 CiliumNetworkPolicy",
    strictObject({
      endpointSelector: selector,
      ingress: array(
        strictObject({
          fromEntities: array(picklist(["ingress"])),
          toPorts: array(strictObject({ ports: array(port) })),
        }),
      ),
    }),
  ),
]);

/** null: it is of a kind that a package knows, or unknown. */
export function foreignSchemaOf({ apiVersion, kind }: Document): GenericSchema | null {
  return SCHEMAS.get(`${apiVersion} ${kind}`) ?? null;
}

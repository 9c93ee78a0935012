import {
  containersOf,
  type Document,
  type Finding,
  type KeyRef,
  ofKind,
  placeOf,
  type Workload,
} from "../documents.ts";

/** Secrets that the operator makes, where no document does, with the keys that may be asked of them. */
export const GIVEN_SECRETS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "rcpt-secrets",
    new Set([
      ...["DATABASE_URL", "REDIS_URL", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY", "SECRETS_KEY"],
      ...["SMTP_OUT_URL", "SMTP_PROXIES", "STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"],
      "OTEL_EXPORTER_OTLP_HEADERS",
    ]),
  ],
  ["rcpt-redis-scaler", new Set(["address", "username", "password", "tls", "ca"])],
]);

/** Keys of a Secret that the operator makes, or that is fetched from the operator's store; undefined: no such Secret. */
function givenKeys(documents: readonly Document[], name: string): ReadonlySet<string> | undefined {
  const isFetched = ofKind<{ target?: { name?: string } }>(documents, "ExternalSecret").some(
    ({ spec }) => spec.target?.name === name,
  );
  return GIVEN_SECRETS.get(name) ?? (isFetched ? GIVEN_SECRETS.get("rcpt-secrets") : undefined);
}

/** ConfigMaps that the operator makes. */
const GIVEN_CONFIGS = ["rcpt-private-ca"];

type Kind = "ConfigMap" | "Secret";

/** Why a key cannot be had, or null. */
function missing(
  documents: readonly Document[],
  kind: Kind,
  { name = "", key, optional }: KeyRef,
): string | null {
  const made = ofKind(documents, kind).find(({ metadata }) => metadata.name === name);
  if (made !== undefined)
    return made.data?.[key] !== undefined || optional === true
      ? null
      : `reads ${key} of ${kind} ${name}, which has it not`;
  const given = kind === "Secret" ? givenKeys(documents, name) : undefined;
  if (given === undefined) return `reads ${kind} ${name}, which is not there`;
  return given.has(key) ? null : `reads ${key} of Secret ${name}, which no operator is told to put there`;
}

function exists(documents: readonly Document[], kind: Kind, name = ""): string | null {
  const there = ofKind(documents, kind).some(({ metadata }) => metadata.name === name);
  return there || (kind === "Secret" ? GIVEN_SECRETS.has(name) : GIVEN_CONFIGS.includes(name))
    ? null
    : `reads ${kind} ${name}, which is not there`;
}

function ofWorkload(documents: readonly Document[], { pod }: Workload): (string | null)[] {
  const variables = containersOf(pod).flatMap(({ env = [] }) => env);
  const sources = containersOf(pod).flatMap(({ envFrom = [] }) => envFrom);
  return [
    ...variables.flatMap(({ valueFrom: { secretKeyRef: secret, configMapKeyRef: config } = {} }) => [
      secret ? missing(documents, "Secret", secret) : null,
      config ? missing(documents, "ConfigMap", config) : null,
    ]),
    ...sources.map(({ configMapRef, secretRef }) =>
      configMapRef
        ? exists(documents, "ConfigMap", configMapRef.name)
        : exists(documents, "Secret", secretRef?.name ?? ""),
    ),
    ...(pod.volumes ?? []).flatMap(({ configMap, secret }) => [
      configMap ? exists(documents, "ConfigMap", configMap.name) : null,
      secret && secret.optional !== true ? exists(documents, "Secret", secret.secretName) : null,
    ]),
  ];
}

/** Every ConfigMap, Secret and key that is read is made here, or by the operator. */
export function checkSources(documents: readonly Document[], workloads: readonly Workload[]): Finding[] {
  const finding = (document: Document) => (text: string | null) =>
    text === null ? [] : [{ where: placeOf(document), text }];
  const variables = workloads.flatMap(({ pod }) => containersOf(pod).flatMap(({ env = [] }) => env));
  const read = new Set(variables.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name));
  type Auth = { secretTargetRef?: { name: string; key: string }[] };
  return [
    ...workloads.flatMap((workload) => ofWorkload(documents, workload).flatMap(finding(workload.document))),
    ...ofKind<Auth>(documents, "TriggerAuthentication").flatMap((document) =>
      (document.spec.secretTargetRef ?? []).flatMap((ref) =>
        finding(document as unknown as Document)(missing(documents, "Secret", ref)),
      ),
    ),
    ...ofKind<{ target?: { name?: string } }>(documents, "ExternalSecret").flatMap((document) => {
      const name = document.spec.target?.name ?? document.metadata.name;
      const text =
        GIVEN_SECRETS.has(name) || read.has(name)
          ? null
          : `makes the Secret ${name}, which nothing is said to read`;
      return finding(document as unknown as Document)(text);
    }),
  ];
}

import { type Container, containersOf, type Document, ofKind, type Workload } from "./documents.ts";

/** What a container finds in its environment. */
export interface Environment {
  /** Values that the manifests say. */
  values: ReadonlyMap<string, string>;
  /** Variables whose values come from secrets, from the pod, or from elsewhere, and are not in the manifests. */
  given: ReadonlySet<string>;
  /** Of `given`, those that need not be there. */
  optional: ReadonlySet<string>;
  /** Content of the files that are mounted from ConfigMaps, by path. */
  files: ReadonlyMap<string, string>;
}

/** Data of each ConfigMap, and of each Secret that the manifests make themselves, decoded. */
function dataOf(documents: readonly Document[], kind: "ConfigMap" | "Secret") {
  return new Map(
    ofKind(documents, kind).map(({ metadata, data = {} }) => [
      metadata.name,
      new Map(
        Object.entries(data).map(([key, value]) => [
          key,
          kind === "Secret" ? Buffer.from(value, "base64").toString() : value,
        ]),
      ),
    ]),
  );
}

/** `$(NAME)` in a value is what the variables before it say. */
function expand(value: string, values: ReadonlyMap<string, string>): string {
  return value.replaceAll(/\$\(([A-Za-z_]\w*)\)/g, (whole, name: string) => values.get(name) ?? whole);
}

export function environmentOf(
  documents: readonly Document[],
  { pod }: Workload,
  container: Container,
): Environment {
  const configs = dataOf(documents, "ConfigMap");
  const secrets = dataOf(documents, "Secret");
  const values = new Map<string, string>();
  const given = new Set<string>();
  const optional = new Set<string>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    const source = configMapRef ? configs.get(configMapRef.name ?? "") : secrets.get(secretRef?.name ?? "");
    for (const [key, value] of source ?? []) values.set(key, value);
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    const { configMapKeyRef: config, secretKeyRef: secret } = valueFrom ?? {};
    const found =
      value ??
      (config ? configs.get(config.name ?? "")?.get(config.key) : undefined) ??
      (secret ? secrets.get(secret.name ?? "")?.get(secret.key) : undefined);
    if (found !== undefined) values.set(name, expand(found, values));
    // Of a Secret that is made here it is known that it has it not; of the operator's it may have it.
    else if (!(secret?.optional === true && secrets.has(secret.name ?? ""))) given.add(name);
    if (found === undefined && (secret?.optional ?? config?.optional) === true) optional.add(name);
  }
  const files = new Map<string, string>();
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    const volume = pod.volumes?.find((one) => one.name === name);
    for (const [key, value] of configs.get(volume?.configMap?.name ?? "") ?? [])
      files.set(`${mountPath}/${key}`, value);
  }
  return { values, given, optional, files };
}

/** Containers of rcpt itself, with what they find: beside sidecars the one that has the name of the role. */
export function ownContainers(documents: readonly Document[], workloads: readonly Workload[]) {
  return workloads
    .filter(({ labels }) => labels["app.kubernetes.io/name"] === "rcpt")
    .flatMap((workload) => {
      const all = containersOf(workload.pod);
      const own = all.filter(({ name }) => name === workload.labels["app.kubernetes.io/component"]);
      return (own.length > 0 ? own : all).map((container) => ({
        workload,
        container,
        environment: environmentOf(documents, workload, container),
      }));
    });
}

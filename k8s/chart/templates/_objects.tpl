{{- /* Files whose objects are made, as JSON. */ -}}
{{- define "rcpt.files" -}}
{{- $values := .Values }}
{{- $files := list "base/api.yaml" "base/bulk.yaml" "base/relay.yaml" "base/api-scaling.yaml" }}
{{- if $values.migrate.enabled }}{{ $files = append $files "base/migrate.yaml" }}{{ end }}
{{- if $values.networkPolicy.enabled }}{{ $files = append $files "base/network.yaml" }}{{ end }}
{{- /* Cilium's file is a network policy. As the only one it would block all other traffic to the API, so it needs networkPolicy.enabled. */ -}}
{{- $ofGateways := dict "envoy" (list "policy.yaml" "network.yaml") "istio" (list "policy.yaml") "nginx" (list "policy.yaml") "cilium" (list "network.yaml") }}
{{- $components := dict
  "gateway" (ternary (list "route.yaml" "network.yaml") list $values.gateway.enabled)
  (printf "gateway-%s" $values.gateway.implementation) (ternary (dig $values.gateway.implementation list $ofGateways) list $values.gateway.enabled)
  "ingress" (ternary (list "ingress.yaml" "network.yaml") list $values.ingress.enabled)
  "keda" (ternary (list "scaled-object.yaml" "network.yaml") list (eq $values.bulk.autoscaling.by "keda"))
  "hpa-external" (ternary (list "hpa.yaml") list (eq $values.bulk.autoscaling.by "external"))
  "external-secrets" (ternary (list "external-secrets.yaml") list $values.externalSecrets.enabled)
  "pod-monitors" (ternary (list "pod-monitors.yaml" "network.yaml") list $values.podMonitors.enabled)
  "monitoring" (ternary (list "rules.yaml") list $values.monitoring.enabled)
  "tracing" (ternary (list "network.yaml") list $values.tracing.enabled)
  "priority" (ternary (list "classes.yaml") list $values.priorityClasses.enabled)
}}
{{- range $component, $names := $components }}
{{-   range $names }}
{{-     if or $values.networkPolicy.enabled (ne . "network.yaml") }}{{ $files = append $files (printf "components/%s/%s" $component .) }}{{ end }}
{{-   end }}
{{- end }}
{{- toJson $files }}
{{- end }}

{{- /*
  The templates below take `root` (the chart), `object` (a parsed manifest), `role` (its component label or "") and `path` (its file).
*/ -}}

{{- /* "true" for an object that these values want. */ -}}
{{- define "rcpt.isWanted" -}}
{{- $values := .root.Values }}
{{- if eq .object.kind "ServiceAccount" }}{{ (index $values .role).serviceAccount.create }}
{{- else if eq .path "base/api-scaling.yaml" }}{{ $values.api.autoscaling.enabled }}
{{- else if and (eq .object.kind "ExternalSecret") (eq .object.metadata.name "rcpt-redis-scaler") }}{{ eq $values.bulk.autoscaling.by "keda" }}
{{- else }}true{{ end }}
{{- end }}

{{- /* Changes `object` in place; prints nothing. */ -}}
{{- define "rcpt.change" -}}
{{- $metadata := .object.metadata }}
{{- if ne .object.kind "PriorityClass" }}{{ $_ := set $metadata "namespace" .root.Release.Namespace }}{{ end }}
{{- $_ := set $metadata "labels" (merge $metadata.labels .root.Values.labels) }}
{{- /* The kinds that have a template rcpt.change<Kind> below. */ -}}
{{- $name := printf "rcpt.change%s" .object.kind }}
{{- if has .object.kind (list "Deployment" "Job") }}{{ $_ := include "rcpt.changePods" . }}{{ end }}
{{- if has .object.kind (list "Deployment" "Job" "ServiceAccount" "HorizontalPodAutoscaler" "ScaledObject" "TriggerAuthentication" "ExternalSecret" "HTTPRoute" "Ingress" "NetworkPolicy" "Service" "PodMonitor" "PrometheusRule") }}
{{-   $_ := include $name . }}
{{- end }}
{{- end }}

{{- define "rcpt.changeDeployment" -}}
{{- $role := index .root.Values .role }}
{{- if eq .role "bulk" }}{{ $_ := set .object.metadata.annotations "rcpt-autoscaler" (get (dict "keda" "keda" "external" "hpa-external" "none" "none") $role.autoscaling.by) }}{{ end }}
{{- $isScaled := or (and (eq .role "api") $role.autoscaling.enabled) (and (eq .role "bulk") (ne $role.autoscaling.by "none")) }}
{{- if not $isScaled }}{{ $_ := set .object.spec "replicas" $role.replicas }}{{ end }}
{{- end }}

{{- /* Annotations of what the migration needs: made before its Job, and taken away when it is done. JSON. */ -}}
{{- define "rcpt.hook" -}}
{{- dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" "-1" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" | toJson }}
{{- end }}

{{- /* A hook of Helm. Argo CD takes it for one (PreSync) only without annotations of its own. */ -}}
{{- define "rcpt.changeJob" -}}
{{- $_ := set .object.metadata "name" (printf "rcpt-migrate-%d" .root.Release.Revision) }}
{{- $_ := set .object.metadata "annotations" (dict "helm.sh/hook" "pre-install,pre-upgrade") }}
{{- $_ := set .object.spec "ttlSecondsAfterFinished" 604800 }}
{{- end }}

{{- define "rcpt.changeServiceAccount" -}}
{{- $account := (index .root.Values .role).serviceAccount }}
{{- $hook := ternary (fromJson (include "rcpt.hook" .root)) dict (eq .role "migrate") }}
{{- $_ := set .object.metadata "name" $account.name }}
{{- with merge $hook $account.annotations }}{{ $_ := set $.object.metadata "annotations" . }}{{ end }}
{{- end }}

{{- define "rcpt.changeService" -}}
{{- with dig "service" "annotations" dict (index .root.Values .role) }}{{ $_ := set $.object.metadata "annotations" . }}{{ end }}
{{- end }}

{{- define "rcpt.changeHorizontalPodAutoscaler" -}}
{{- $scaling := (index .root.Values .role).autoscaling }}
{{- $_ := set .object.spec "minReplicas" $scaling.minReplicas }}
{{- $_ := set .object.spec "maxReplicas" $scaling.maxReplicas }}
{{- if eq .role "api" }}
{{-   $_ := set (first .object.spec.metrics).containerResource.target "averageUtilization" $scaling.cpu }}
{{-   with $scaling.requestsInFlight }}
{{-     $metric := (first (fromYamlArray ($.root.Files.Get "components/in-flight-metric/metric.yaml"))).value }}
{{-     $_ := set $metric.pods.target "averageValue" (toString .) }}
{{-     $_ := set $.object.spec "metrics" (append $.object.spec.metrics $metric) }}
{{-   end }}
{{- end }}
{{- end }}

{{- define "rcpt.changeScaledObject" -}}
{{- $scaling := .root.Values.bulk.autoscaling }}
{{- $_ := set .object.spec "minReplicaCount" $scaling.minReplicas }}
{{- $_ := set .object.spec "maxReplicaCount" $scaling.maxReplicas }}
{{- range .object.spec.triggers }}
{{-   if and (eq .type "redis-streams") (not (kindIs "invalid" $scaling.redisDatabase)) }}{{ $_ := set .metadata "databaseIndex" (toString $scaling.redisDatabase) }}{{ end }}
{{-   if .metadata.url }}{{ $_ := set .metadata "url" (printf "http://rcpt-relay-metrics.%s.svc:9090/metrics" $.root.Release.Namespace) }}{{ end }}
{{- end }}
{{- end }}

{{- define "rcpt.changeTriggerAuthentication" -}}
{{- range .object.spec.secretTargetRef }}{{ $_ := set . "name" $.root.Values.bulk.autoscaling.redisSecretName }}{{ end }}
{{- end }}

{{- define "rcpt.changeExternalSecret" -}}
{{- $values := .root.Values }}
{{- $isScaler := eq .object.metadata.name "rcpt-redis-scaler" }}
{{- $name := ternary $values.bulk.autoscaling.redisSecretName $values.secretName $isScaler }}
{{- $_ := set .object "apiVersion" $values.externalSecrets.apiVersion }}
{{- $_ := set .object.metadata "name" $name }}
{{- $_ := set .object.spec "refreshInterval" $values.externalSecrets.refreshInterval }}
{{- $_ := set .object.spec "secretStoreRef" $values.externalSecrets.store }}
{{- $_ := set .object.spec.target "name" $name }}
{{- $_ := set (first .object.spec.dataFrom).extract "key" (ternary $values.externalSecrets.scalerKey $values.externalSecrets.key $isScaler) }}
{{- end }}

{{- define "rcpt.changeHTTPRoute" -}}
{{- $_ := set .object.spec "parentRefs" (list (pick .root.Values.gateway "name" "namespace" "sectionName")) }}
{{- $_ := set .object.spec "hostnames" (prepend .root.Values.extraHosts .root.Values.host) }}
{{- $_ := set .object.metadata "annotations" (merge (deepCopy .root.Values.gateway.annotations) .object.metadata.annotations) }}
{{- end }}

{{- define "rcpt.changeIngress" -}}
{{- $ingress := .root.Values.ingress }}
{{- $_ := set .object.spec "ingressClassName" $ingress.className }}
{{- if not (kindIs "invalid" $ingress.annotations) }}
{{-   $_ := set .object.metadata "annotations" (merge (deepCopy $ingress.annotations) (pick .object.metadata.annotations "argocd.argoproj.io/sync-wave")) }}
{{- end }}
{{- $hosts := prepend .root.Values.extraHosts .root.Values.host }}
{{- $rules := list }}
{{- range $hosts }}{{ $rules = append $rules (set (deepCopy (first $.object.spec.rules)) "host" .) }}{{ end }}
{{- $_ := set .object.spec "rules" $rules }}
{{- /* `{}`: the controller's own certificate. */ -}}
{{- $tls := ternary (dict "hosts" $hosts "secretName" $ingress.tlsSecretName) dict (ne $ingress.tlsSecretName "") }}
{{- $_ := set .object.spec "tls" (list $tls) }}
{{- end }}

{{- /* Sets the namespace of each policy's peer where the values name one. */ -}}
{{- define "rcpt.changeNetworkPolicy" -}}
{{- $values := .root.Values }}
{{- $namespaces := dict
  "rcpt-api-from-gateway" ($values.gateway.proxyNamespace | default $values.gateway.namespace)
  "rcpt-api-from-ingress" $values.ingress.namespace
  "rcpt-relay-from-keda" $values.bulk.autoscaling.kedaNamespace
  "rcpt-metrics-from-prometheus" $values.podMonitors.namespace
  "rcpt-to-collector" $values.tracing.namespace
}}
{{- with get $namespaces .object.metadata.name }}
{{-   $rule := first (concat (dig "spec" "ingress" list $.object) (dig "spec" "egress" list $.object)) }}
{{-   $peer := first (concat (dig "from" list $rule) (dig "to" list $rule)) }}
{{-   $_ := set $peer.namespaceSelector.matchLabels "kubernetes.io/metadata.name" . }}
{{- end }}
{{- /* OpenShift's routers may be in their namespace or on the nodes' network; this label is on both. */ -}}
{{- if and $values.openshift (eq .object.metadata.name "rcpt-api-from-ingress") (eq $values.ingress.namespace "openshift-ingress") }}
{{-   $peer := first (first .object.spec.ingress).from }}
{{-   $_ := set $peer "namespaceSelector" (dict "matchLabels" (dict "policy-group.network.openshift.io/ingress" "")) }}
{{- end }}
{{- if and $values.openshift (eq .object.metadata.name "rcpt-dns") }}
{{-   $rule := first .object.spec.egress }}
{{-   $peer := dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" "openshift-dns")) }}
{{-   $_ := set $rule "to" (list $peer) }}
{{-   range $protocol := list "UDP" "TCP" }}{{ $_ := set $rule "ports" (append $rule.ports (dict "protocol" $protocol "port" 5353)) }}{{ end }}
{{- end }}
{{- end }}

{{- define "rcpt.changePodMonitor" -}}
{{- $_ := set .object.metadata "labels" (merge .object.metadata.labels .root.Values.podMonitors.labels) }}
{{- end }}

{{- define "rcpt.changePrometheusRule" -}}
{{- $_ := set .object.metadata "labels" (merge .object.metadata.labels .root.Values.monitoring.labels) }}
{{- /* Each metric of the rules selects by the namespace, too: m{a="b"} becomes m{namespace="x", a="b"}. */ -}}
{{- if .root.Values.monitoring.onlyOwnNamespace }}
{{-   $selected := printf "${0}{namespace=%q}" .root.Release.Namespace }}
{{-   range .object.spec.groups }}
{{-     range .rules }}
{{-       $expr := regexReplaceAll "\\b(rcpt|kube|container|nodejs|process)[_:][a-z0-9_:]+" .expr $selected }}
{{-       $_ := set . "expr" ($expr | replace "\"}{" "\", ") }}
{{-     end }}
{{-   end }}
{{- end }}
{{- end }}

{{- /* A policy of these `rules` of egress, if there are any: of all pods or of a `role`. */ -}}
{{- define "rcpt.egress" -}}
{{- if .rules }}
{{- $pods := dict "app.kubernetes.io/name" "rcpt" }}
{{- if .role }}{{ $_ := set $pods "app.kubernetes.io/component" .role }}{{ end }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{ toJson (merge (dict "app.kubernetes.io/name" "rcpt" "rcpt-phase" "prepare") .root.Values.labels) }}
  {{- with .annotations }}
  annotations: {{ . }}
  {{- end }}
spec:
  podSelector:
    matchLabels: {{ toJson $pods }}
  policyTypes: [Egress]
  egress: {{- toYaml .rules | nindent 4 }}
{{- end }}
{{- end }}

{{- /* A value as the text of a setting: YAML's whole numbers come as floats. */ -}}
{{- define "rcpt.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* Data of the ConfigMap rcpt-settings: base/settings.env, components' own, the values' settings. JSON. */ -}}
{{- define "rcpt.settings" -}}
{{- $data := dict }}
{{- range $line := splitList "\n" (.Files.Get "base/settings.env") }}
{{-   if and (contains "=" $line) (not (hasPrefix "#" $line)) }}
{{-     $parts := regexSplit "=" $line 2 }}
{{-     $_ := set $data (first $parts) (last $parts) }}
{{-   end }}
{{- end }}
{{- with .Values.tracing }}
{{-   if .enabled }}
{{-     $_ := set $data "OTEL_EXPORTER_OTLP_ENDPOINT" .endpoint }}
{{-     $_ := set $data "OTEL_SERVICE_NAME" .serviceName }}
{{-     $_ := set $data "OTEL_TRACES_SAMPLER_ARG" (include "rcpt.text" .samplerArg) }}
{{-   end }}
{{- end }}
{{- range $name, $value := .Values.settings }}{{ $_ := set $data $name (include "rcpt.text" $value) }}{{ end }}
{{- toJson $data }}
{{- end }}

{{- /* Data of the ConfigMap rcpt-shaping. JSON. */ -}}
{{- define "rcpt.shaping" -}}
{{- $content := .Files.Get "base/shaping.json" }}
{{- with .Values.shaping }}{{ $content = toJson . }}{{ end }}
{{- dict "shaping.json" $content | toJson }}
{{- end }}

{{- define "rcpt.image" -}}
{{- with .Values.image }}
{{-   if and .digest .tag }}{{ fail "image.tag and image.digest are both set: set image.tag to \"\" to use the digest, or image.digest to \"\" to use the tag" }}{{ end }}
{{-   if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* Variables that these values add to a role's container, as a list in JSON. */ -}}
{{- define "rcpt.env" -}}
{{- $values := .root.Values }}
{{- $env := list }}
{{- $secrets := list }}
{{- if and $values.billing.enabled (has .role (list "api" "relay")) }}{{ $secrets = list "STRIPE_SECRET_KEY" "STRIPE_WEBHOOK_SECRET" }}{{ end }}
{{- range $secrets }}{{ $env = append $env (dict "name" . "valueFrom" (dict "secretKeyRef" (dict "name" "rcpt-secrets" "key" .))) }}{{ end }}
{{- if and $values.nodeEgress.enabled (has .role (list "api" "bulk")) }}
{{-   $env = append $env (dict "name" "EGRESS_ID" "valueFrom" (dict "fieldRef" (dict "fieldPath" "spec.nodeName"))) }}
{{-   $env = append $env (dict "name" "SMTP_HELO_NAME" "value" (printf "$(EGRESS_ID).%s" $values.nodeEgress.domain)) }}
{{- end }}
{{- if or $values.privateCa.configMapName $values.privateCa.secretName }}
{{-   $env = append $env (dict "name" "NODE_EXTRA_CA_CERTS" "value" (printf "/etc/rcpt/ca/%s" $values.privateCa.key)) }}
{{- end }}
{{- if and $values.tracing.enabled (ne .role "migrate") }}
{{-   $key := "OTEL_EXPORTER_OTLP_HEADERS" }}
{{-   $env = append $env (dict "name" $key "valueFrom" (dict "secretKeyRef" (dict "name" "rcpt-secrets" "key" $key "optional" true))) }}
{{- end }}
{{- concat $env $values.pods.env (dig "env" list (index $values .role)) | toJson }}
{{- end }}

{{- /* Renames a Secret wherever `value`, a part of a pod, reads it (variables, volumes), in place; prints nothing. */ -}}
{{- define "rcpt.renameSecrets" -}}
{{- $names := pick . "from" "to" }}
{{- if kindIs "map" .value }}
{{-   range $key, $part := .value }}
{{-     if and (has $key (list "secret" "secretRef" "secretKeyRef")) (kindIs "map" $part) }}
{{-       range $name := list "name" "secretName" }}
{{-         if eq (toString (get $part $name)) $names.from }}{{ $_ := set $part $name $names.to }}{{ end }}
{{-       end }}
{{-     else }}{{ include "rcpt.renameSecrets" (set (deepCopy $names) "value" $part) }}{{ end }}
{{-   end }}
{{- else if kindIs "slice" .value }}
{{-   range .value }}{{ include "rcpt.renameSecrets" (set (deepCopy $names) "value" .) }}{{ end }}
{{- end }}
{{- end }}

{{- /* Changes the pods of a Deployment or a Job in place; prints nothing. */ -}}
{{- define "rcpt.changePods" -}}
{{- $values := .root.Values }}
{{- $role := index $values .role }}
{{- $all := $values.pods }}
{{- $template := .object.spec.template }}
{{- $pod := $template.spec }}
{{- $container := first $pod.containers }}
{{- $isHook := eq .role "migrate" }}

{{- $_ := set $container "image" (include "rcpt.image" .root) }}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end }}
{{- with $values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end }}
{{- $_ := set $pod "serviceAccountName" $role.serviceAccount.name }}
{{- if $values.openshift }}{{ $_ := set $pod "securityContext" (omit $pod.securityContext "runAsUser" "runAsGroup" "fsGroup") }}{{ end }}
{{- $_ := set $container "resources" (mergeOverwrite $container.resources (deepCopy $role.resources)) }}

{{- /* Where it runs. */ -}}
{{- with merge (dict) (dig "nodeSelector" dict $role) $all.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with concat $all.tolerations (dig "tolerations" list $role) }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- with dig "affinity" dict $role | default $all.affinity }}{{ $_ := set $pod "affinity" . }}{{ end }}
{{- $spread := dig "topologySpreadConstraints" $all.topologySpreadConstraints $role }}
{{- if not (kindIs "invalid" $spread) }}{{ $_ := set $pod "topologySpreadConstraints" $spread }}{{ end }}
{{- $grace := dig "terminationGracePeriodSeconds" $all.terminationGracePeriodSeconds $role }}
{{- if not (kindIs "invalid" $grace) }}{{ $_ := set $pod "terminationGracePeriodSeconds" (int $grace) }}{{ end }}
{{- $class := "" }}
{{- if and $values.priorityClasses.enabled (ne .role "migrate") }}{{ $class = ternary "rcpt-batch" "rcpt-interactive" (eq .role "bulk") }}{{ end }}
{{- with dig "priorityClassName" "" $role | default $all.priorityClassName | default $class }}{{ $_ := set $pod "priorityClassName" . }}{{ end }}

{{- /* A change of settings replaces the pods. */ -}}
{{- $annotations := dict "checksum/settings" (printf "%s%s" (include "rcpt.settings" .root) (include "rcpt.shaping" .root) | sha256sum) }}
{{- $_ := set $template.metadata "annotations" (merge $annotations (dig "annotations" dict $role) $all.annotations) }}
{{- $_ := set $template.metadata "labels" (merge $template.metadata.labels (dig "labels" dict $role) $all.labels $values.labels) }}

{{- /* Variables: those that these values add take the place of others of the same name. */ -}}
{{- $added := fromJsonArray (include "rcpt.env" .) }}
{{- $names := list }}
{{- range $added }}{{ $names = append $names .name }}{{ end }}
{{- $env := list }}
{{- range $container.env }}{{ if not (has .name $names) }}{{ $env = append $env . }}{{ end }}{{ end }}
{{- $env = concat $env $added }}
{{- range $env }}
{{-   if eq (dig "valueFrom" "secretKeyRef" "name" "" .) "rcpt-secrets" }}{{ $_ := set .valueFrom.secretKeyRef "name" $values.secretName }}{{ end }}
{{- end }}
{{- $_ := set $container "env" $env }}
{{- $_ := set $container "envFrom" (concat $container.envFrom $all.envFrom (dig "envFrom" list $role)) }}

{{- /* Volumes and other containers. */ -}}
{{- $volumes := concat $pod.volumes $all.volumes (dig "volumes" list $role) }}
{{- $mounts := concat $container.volumeMounts $all.volumeMounts (dig "volumeMounts" list $role) }}
{{- with $values.privateCa }}
{{-   $source := dict }}
{{-   if .secretName }}{{ $_ := set $source "secret" (dict "secretName" .secretName) }}{{ else if .configMapName }}{{ $_ := set $source "configMap" (dict "name" .configMapName) }}{{ end }}
{{-   if $source }}
{{-     $volumes = append $volumes (merge (dict "name" "private-ca") $source) }}
{{-     $mounts = append $mounts (dict "name" "private-ca" "mountPath" "/etc/rcpt/ca" "readOnly" true) }}
{{-   end }}
{{- end }}
{{- $scratch := dig "scratch" "sizeLimit" "" $role }}
{{- range $volumes }}{{ if and $scratch (eq .name "scratch") }}{{ $_ := set . "emptyDir" (dict "sizeLimit" $scratch) }}{{ end }}{{ end }}
{{- $_ := set $pod "volumes" $volumes }}
{{- $_ := set $container "volumeMounts" $mounts }}
{{- with concat $all.initContainers (dig "initContainers" list $role) }}{{ $_ := set $pod "initContainers" . }}{{ end }}
{{- if $isHook }}
{{- /* No sidecars: a Job ends when all its containers have. */ -}}
{{-   $_ := set (first $container.envFrom).configMapRef "name" "rcpt-migrate-settings" }}
{{-   range $pod.volumes }}{{ if eq .name "shaping" }}{{ $_ := set .configMap "name" "rcpt-migrate-shaping" }}{{ end }}{{ end }}
{{-   if $values.externalSecrets.enabled }}
{{-     $_ := set $template "spec" (deepCopy $pod) }}
{{-     include "rcpt.renameSecrets" (dict "value" $template.spec "from" $values.secretName "to" "rcpt-migrate-secrets") }}
{{-   end }}
{{- else }}
{{-   $_ := set $pod "containers" (concat $pod.containers $all.sidecars (dig "sidecars" list $role)) }}
{{- end }}
{{- end }}

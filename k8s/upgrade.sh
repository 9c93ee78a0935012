#!/usr/bin/env bash
# k8s/upgrade.sh OVERLAY [--timeout SECONDS]
#
# Installs, upgrades or rolls back: brings a cluster to the state that OVERLAY describes. It checks the manifests
# with the API server, migrates the database, applies the manifests and waits for each roll-out. It stops at the
# first step that fails, shows the reason, and says how to go on. It may be run again at any time. Needs kubectl 1.27
# or newer, with the right context.
# Exit codes: 0 done, 1 stopped, 2 wrong arguments, 130 interrupted.
set -euo pipefail

readonly OURS=app.kubernetes.io/name=rcpt
readonly POLL_S=2
# Seconds after which a pod that has waited for one reason all the time (no image, no secret) counts as stuck.
readonly STUCK_S=120
# Seconds for which the finished Job of the migration is kept (a week), so that its log can still be read.
readonly KEEP_S=604800

usage() {
  echo "usage: k8s/upgrade.sh OVERLAY [--timeout SECONDS]" >&2
  exit 2
}

overlay="" timeout_s=1700
while [ $# -gt 0 ]; do
  case $1 in
    --timeout)
      case ${2:-} in '' | *[!0-9]*) usage ;; esac
      timeout_s=$2
      shift 2
      ;;
    -*) usage ;;
    *)
      [ -z "$overlay" ] || usage
      overlay=$1
      shift
      ;;
  esac
done
[ -n "$overlay" ] || usage
[ -d "$overlay" ] || { echo "upgrade: there is no folder $overlay" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'echo "upgrade: interrupted; run the same command again to go on" >&2; exit 130' INT TERM

say() { echo "upgrade: $*"; }
# Prints its arguments, one on each line (the failure, then how to go on), and exits with 1.
stop() {
  printf 'upgrade: %s\n' "$@" >&2
  exit 1
}

# Builds the manifests. Names the Job of the migration after the checksum of the manifests: a Job cannot be changed,
# so each release needs its own.
render() {
  kubectl kustomize "$overlay" >"$work/rendered.yaml" ||
    stop "the manifests cannot be built" "Nothing was changed."
  job="rcpt-migrate-$(cksum <"$work/rendered.yaml" | cut -d ' ' -f 1)"
  awk -v job="$job" -v keep="$KEEP_S" '
    function flush(  i) {
      for (i = 1; i <= count; i++) {
        if (isJob && isMigration && lines[i] ~ /^  name: /) print "  name: " job
        else print lines[i]
        if (isJob && isMigration && lines[i] == "spec:") print "  ttlSecondsAfterFinished: " keep
      }
      count = isJob = isMigration = 0
    }
    $0 == "---" { flush(); print; next }
    $0 == "kind: Job" { isJob = 1 }
    $0 == "    app.kubernetes.io/component: migrate" { isMigration = 1 }
    { lines[++count] = $0 }
    END { flush() }
  ' "$work/rendered.yaml" >"$work/release.yaml"
  [ "$(grep -c "^  name: $job\$" "$work/release.yaml")" = 1 ] ||
    stop "$overlay has not one Job labelled app.kubernetes.io/component=migrate" "Nothing was changed."
  namespace=$(awk '/^  namespace: / { print $2; exit }' "$work/release.yaml")
  [ -n "$namespace" ] || stop "$overlay names no namespace" "Nothing was changed."
  local asked
  asked=$(sed -n 's/.*rcpt-relay-metrics\.\([a-z0-9-]*\)\.svc.*/\1/p' "$work/release.yaml" | grep -vx "$namespace" || true)
  [ -z "$asked" ] || stop "KEDA would scale by the backlog of the namespace $asked, not of $namespace" \
    "Repeat the replacements of k8s/overlays/production in the kustomization that sets the namespace. Nothing was changed."
}

in_namespace() { kubectl --namespace "$namespace" "$@"; }

# Stops if the API server would refuse the manifests (an immutable field, an unknown kind, a quota). Changes nothing.
check() {
  if ! kubectl get namespace "$namespace" >/dev/null 2>"$work/errors"; then
    grep -q NotFound "$work/errors" || stop "the cluster does not answer: $(cat "$work/errors")" "Nothing was changed."
    say "the namespace $namespace is new: nothing is checked beforehand"
    return
  fi
  kubectl apply --dry-run=server -f "$work/release.yaml" >/dev/null && return
  # KEDA's webhook refuses a workload that another autoscaler's HPA scales.
  name_leftovers
  stop "the API server does not accept the manifests" "Nothing was changed."
}

conditions() {
  in_namespace get job "$job" --ignore-not-found \
    -o 'jsonpath={range .status.conditions[?(@.status=="True")]}{.type}{" "}{end}'
}

# Prints the reasons why the migration has no running pod, if there are any: no image, no secret, no ConfigMap to mount,
# no node, or refused by a quota or by admission.
why_waiting() {
  local reasons pods format='{range .items[*]}{"pod "}{range .status.containerStatuses[*]}{.state.waiting.reason}{" "}{end}'
  format+='{range .status.conditions[?(@.status=="False")]}{.reason}{" "}{end}{end}'
  reasons=$(in_namespace get pods -l "job-name=$job" -o "jsonpath=$format") || true
  # A volume that cannot be mounted is said by events alone. They are kept after their cause has gone, as when the image is pulled.
  case $reasons in
    *ContainerCreating*)
      pods=$(in_namespace get pods -l "job-name=$job" -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{end}') || true
      reasons+=" $(in_namespace get events -o 'jsonpath={range .items[*]}{.reason}{" "}{.involvedObject.name}{"\n"}{end}' 2>/dev/null |
        awk -v pods="$pods" '
          BEGIN { split(pods, names, " "); for (i in names) isThere[names[i]] = 1 }
          $2 in isThere && $1 == "FailedMount" { failed[$2] = 1 }
          $2 in isThere && /^(Pulling|Pulled|Started) / { mounted[$2] = 1 }
          END { for (pod in failed) if (!(pod in mounted)) { print "FailedMount"; exit } }')" || true
      ;;
  esac
  # Events are kept after their cause has gone, so they are read only while the Job has no pod.
  [ -n "$reasons" ] ||
    reasons=$(in_namespace get events --field-selector "involvedObject.name=$job,reason=FailedCreate" \
      -o 'jsonpath={range .items[*]}{.reason}{" "}{end}' 2>/dev/null) || true
  tr ' ' '\n' <<<"$reasons" | grep -E '^(ErrImage|ImagePull|InvalidImage|CreateContainer|Unschedulable|FailedCreate|FailedMount)' |
    sort -u | tr '\n' ' ' || true
}

show_migration() {
  in_namespace get job "$job" -o 'jsonpath={range .status.conditions[*]}{.type}{": "}{.reason}{" "}{.message}{"\n"}{end}' >&2 || true
  in_namespace get pods -l "job-name=$job" >&2 || true
  echo "--- log of $job" >&2
  in_namespace logs -l "job-name=$job" --prefix --tail=50 >&2 || true
  echo "---" >&2
  in_namespace get events --field-selector type=Warning --sort-by .lastTimestamp 2>/dev/null | grep "$job" | tail -n 5 >&2 || true
}

migration_stopped() {
  show_migration
  stop "$1" \
    "No pod was changed. Settings, secrets, accounts and network policies are the new ones already: if the version before" \
    "can do with them, it serves on. Mend what is named above, then run the same command again." \
    "The Job stays for a week: kubectl --namespace $namespace logs -l job-name=$job"
}

migrate() {
  local state waiting reported="" since=$SECONDS stuck_since=$SECONDS
  state=$(conditions) || stop "the cluster does not answer" "Nothing was changed."
  # Deletes the Job of a finished attempt at the same release, so that it can be created again. A running Job is
  # kept, and waited for.
  case $state in *Complete* | *Failed*) in_namespace delete job "$job" --cascade=foreground >/dev/null ;; esac
  kubectl apply -f "$work/release.yaml" -l rcpt-phase=prepare >"$work/applied" ||
    stop "what the migration needs cannot be applied" "No pod was changed. Mend it, then run the same command again."
  say "migrating: job/$job"
  while :; do
    state=$(conditions) || state=""
    case " $state " in
      *" Complete "*) return ;;
      *" Failed "*) migration_stopped "the migration failed" ;;
    esac
    waiting=$(why_waiting)
    if [ "$waiting" != "$reported" ]; then
      reported=$waiting stuck_since=$SECONDS
      [ -z "$waiting" ] || say "the migration's pod does not start: $waiting"
    fi
    [ -z "$waiting" ] || [ $((SECONDS - stuck_since)) -lt "$STUCK_S" ] ||
      migration_stopped "the migration does not start: $waiting"
    [ $((SECONDS - since)) -lt "$timeout_s" ] || migration_stopped "the migration is not done after $timeout_s s"
    sleep "$POLL_S"
  done
}

show_pods() {
  local pods="$OURS,app.kubernetes.io/component=$1" name
  in_namespace get pods -l "$pods" >&2 || true
  # Pods that a quota or an admission refuses are nowhere else.
  in_namespace get events --field-selector reason=FailedCreate --sort-by .lastTimestamp 2>/dev/null |
    grep "rcpt-$1-" | tail -n 5 >&2 || true
  for name in $(in_namespace get pods -l "$pods" --no-headers | awk '{ split($2, n, "/"); if (n[1] < n[2]) print $1 }' | tail -n 2); do
    echo "--- log of $name" >&2
    in_namespace logs "$name" --tail=20 >&2 || true
  done
}

roll_out() {
  local role
  kubectl apply -f "$work/release.yaml" >"$work/applied" ||
    stop "not everything could be applied" "The schema is migrated, and the version before runs on it. Mend it, then run the same command again."
  for role in api bulk relay; do
    say "rolling out: deployment/rcpt-$role"
    in_namespace rollout status "deployment/rcpt-$role" --timeout "${timeout_s}s" && continue
    show_pods "$role"
    stop "new pods of rcpt-$role do not become ready" \
      "Pods of the version before serve on until new ones are ready. Mend what is named above and run the same command again, or go" \
      "back: run it with the manifests and the image of the version before (${before:-kubectl rollout history deployment/rcpt-api has it}), whose code" \
      "runs on the new schema."
  done
}

# Names what is in the namespace, labelled as ours, and not in the manifests: an apply takes nothing away, and an autoscaler
# of another overlay stops the new one. Not ConfigMaps, Jobs and Secrets, which a way back may need, and nothing that
# another object owns, as KEDA's HPA.
readonly LEFTOVER_KINDS=(
  Deployment:deployments.apps Service:services ServiceAccount:serviceaccounts Ingress:ingresses.networking.k8s.io
  NetworkPolicy:networkpolicies.networking.k8s.io PodDisruptionBudget:poddisruptionbudgets.policy
  HorizontalPodAutoscaler:horizontalpodautoscalers.autoscaling ScaledObject:scaledobjects.keda.sh
  TriggerAuthentication:triggerauthentications.keda.sh HTTPRoute:httproutes.gateway.networking.k8s.io
  BackendTrafficPolicy:backendtrafficpolicies.gateway.envoyproxy.io DestinationRule:destinationrules.networking.istio.io
  CiliumNetworkPolicy:ciliumnetworkpolicies.cilium.io ClientSettingsPolicy:clientsettingspolicies.gateway.nginx.org
  ProxySettingsPolicy:proxysettingspolicies.gateway.nginx.org UpstreamSettingsPolicy:upstreamsettingspolicies.gateway.nginx.org
  PodMonitor:podmonitors.monitoring.coreos.com PrometheusRule:prometheusrules.monitoring.coreos.com
)
name_leftovers() {
  local each name owner left=() format='{range .items[*]}{.metadata.name}{" "}{.metadata.ownerReferences[*].kind}{"\n"}{end}'
  awk '/^kind: / { kind = $2 } /^[a-z]/ { isMetadata = $1 == "metadata:" } isMetadata && /^  name: / { print kind ":" $2 }
    $0 == "---" { kind = "" }' "$work/release.yaml" >"$work/names"
  for each in "${LEFTOVER_KINDS[@]}"; do
    while read -r name owner; do
      [ -z "$name" ] || [ -n "$owner" ] || grep -qx "${each%%:*}:$name" "$work/names" || left+=("${each#*:}/$name")
    done < <(in_namespace get "${each#*:}" -l "$OURS" -o "jsonpath=$format" 2>/dev/null)
  done
  [ ${#left[@]} = 0 ] && return
  say "these are in the namespace, and in no manifest of the overlay. If they are of an earlier version, delete them:"
  say "  kubectl --namespace $namespace delete ${left[*]}"
}

render
before=$(in_namespace get deployment rcpt-api --ignore-not-found \
  -o 'jsonpath={.spec.template.spec.containers[?(@.name=="api")].image}' 2>/dev/null) || before=""
images=$(awk '/^ +image: / { print $2 }' "$work/release.yaml" | sort -u | tr '\n' ' ')
# A run that goes on with what another began finds its own image.
case " $images" in *" $before "*) before="" ;; esac
say "$(kubectl config current-context 2>/dev/null || echo 'no context'), namespace $namespace: ${before:+$before -> }$images"
check
migrate
say "migrated"
roll_out
name_leftovers
say "done: $images"
[ -z "$before" ] || say "to go back: the manifests of the version before, with $before in the overlay"

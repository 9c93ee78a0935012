# sh enter.sh MOUNT LOWERS UPPER NPM_CACHE USER WORKDIR COMMAND...
#
# Runs in its own mount and process namespaces, then becomes COMMAND: process 1 there, as in a container. The file
# system of COMMAND is an overlay of the folders LOWERS (a:b, the first on top). With UPPER, changes are written
# there, as in a step of a build. With an empty UPPER the file system is read-only except /tmp and /scratch, as in a
# container run with --read-only. NPM_CACHE, if given, can be read as /root/.npm; what npm adds to it is dropped.
# USER is uid:gid, or empty for root.
set -eu
root=$1
lowers=$2
upper=$3
cache=$4
user=$5
workdir=$6
shift 6
if [ -n "$upper" ]; then
  mkdir -p "$upper.work"
  mount -t overlay overlay -o "lowerdir=$lowers,upperdir=$upper,workdir=$upper.work" "$root"
else
  mount -t overlay overlay -o "lowerdir=$lowers" "$root"
  for folder in tmp scratch; do mount -t tmpfs -o mode=1777 none "$root/$folder"; done
fi
mount -t tmpfs -o mode=0755 none "$root/dev"
for device in null zero random urandom; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 none "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 none "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t proc none "$root/proc"
for file in resolv.conf hosts; do mount --bind "/etc/$file" "$root/etc/$file"; done
if [ -n "$cache" ]; then
  mkdir -p "$root/root/.npm" "$upper.npm" "$upper.npm-work"
  mount -t overlay overlay -o "lowerdir=$cache,upperdir=$upper.npm,workdir=$upper.npm-work" "$root/root/.npm"
fi
set -- /bin/sh -c 'cd "$0" && exec "$@"' "$workdir" "$@"
# --groups drops the supplementary groups of the user who runs this script. The change of user drops root's
# capabilities.
if [ -n "$user" ]; then exec chroot --userspec="$user" --groups="${user#*:}" "$root" "$@"; fi
exec chroot "$root" "$@"

# sh enter.sh ROOT FILES
#
# Runs in a mount and process namespace of its own. Makes the unpacked packages in ROOT a file system to live in, with
# everything that changes in memory, puts FILES into it, and runs /run/start.sh there. When this process ends, so do
# all others of the namespace, and the mounts are gone with it: neither ROOT nor the system has changed.
set -eu
root=$1
files=$2
mount -t tmpfs -o mode=0755 none "$root/mnt"
cp -a "$root/etc" "$root/var" "$root/mnt/"
mount --bind "$root/mnt/etc" "$root/etc"
mount --bind "$root/mnt/var" "$root/var"
for folder in dev run tmp; do mount -t tmpfs -o mode=0755 none "$root/$folder"; done
chmod 1777 "$root/tmp"
for device in null zero random urandom; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t proc none "$root/proc"
rm -rf "$root/var/run"
ln -s /run "$root/var/run"
cp -R "$files/." "$root/"
exec chroot "$root" /bin/sh /run/start.sh

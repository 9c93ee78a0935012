# sh enter.sh ROOT FILES
#
# Runs in its own mount and process namespaces. Turns the unpacked packages in ROOT into a root file system whose
# changing folders are in memory, copies FILES into it, and runs /run/start.sh there. When this process ends, the
# kernel ends all other processes of the namespace and removes its mounts.
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

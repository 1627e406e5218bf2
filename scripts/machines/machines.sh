# Two machines on one, for scripts that source this file: two network namespaces, gpu01 and gpu02, joined by a cable, each
# with a host name, /tmp, /root/.ssh and /etc/hosts of its own, and an SSH server that the other may use. Everything else,
# the file system included, is shared. Needs root; nothing of this machine's own network or SSH is touched.
#
#   machines_packages P... installs Debian's packages that are missing, of these and of what this file needs
#   machines_up DIR        makes both, with their files below DIR (an absolute path); run machines_down when done
#   cable [OPTION...]      joins them by an Ethernet cable, or, with options, by cable.py's
#   unplug, mend           of the cable
#   on gpu01 COMMAND...    runs a command there
machines_root=$(unset CDPATH; cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

machines_packages() {
  local package
  local -a missing=()
  for package in openssh-server iproute2 python3 "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if ((${#missing[@]})); then
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "${missing[@]}" >/dev/null
  fi
}

machines_up() {
  machines_dir=$1
  local name
  for name in gpu01 gpu02; do
    mkdir -p "$machines_dir/$name/tmp" "$machines_dir/$name/ssh"
    chmod 700 "$machines_dir/$name/ssh"
    ip netns add "bn-$name"
    ip -n "bn-$name" link set lo up
    ssh-keygen -q -t ed25519 -N '' -f "$machines_dir/$name/host_key"
    ssh-keygen -q -t ed25519 -N '' -f "$machines_dir/$name/ssh/id_ed25519"
    printf '127.0.0.1 localhost\n10.77.0.1 gpu01\n10.77.0.2 gpu02\n' >"$machines_dir/$name/hosts"
  done
  local other
  for name in gpu01 gpu02; do
    if [[ $name == gpu01 ]]; then other=gpu02; else other=gpu01; fi
    cp "$machines_dir/$other/ssh/id_ed25519.pub" "$machines_dir/$name/ssh/authorized_keys"
    echo "$other $(cut -d' ' -f1,2 "$machines_dir/$other/host_key.pub")" >"$machines_dir/$name/ssh/known_hosts"
  done
  cable
  mkdir -p /run/sshd  # privilege separation's empty folder, which the Debian package makes as well
  for name in gpu01 gpu02; do
    on "$name" /usr/sbin/sshd -f /dev/null -o HostKey="$machines_dir/$name/host_key" -o PidFile="$machines_dir/$name/sshd.pid" \
      -o StrictModes=no -o UsePAM=no -o PermitRootLogin=prohibit-password -E "$machines_dir/$name/sshd.log"
  done
}

on() {
  local name=$1
  shift
  # shellcheck disable=SC2016
  nsenter --net="/run/netns/bn-$name" unshare --mount --uts sh -c '
    name=$1 dir=$2 && shift 2
    mkdir -p /root/.ssh
    mount --bind "$dir/tmp" /tmp && mount --bind "$dir/ssh" /root/.ssh && mount --bind "$dir/hosts" /etc/hosts &&
    hostname "$name" && exec "$@"' on "$name" "$machines_dir/$name" "$@"
}

cable() {
  uncable
  if (($#)); then
    coproc CABLE { exec python3 "$machines_root/cable.py" bn-gpu01 bn-gpu02 "$@"; }
    cable_process=$CABLE_PID
    read -r _ <&"${CABLE[0]}"
    return
  fi
  ip link add cable0 netns bn-gpu01 type veth peer name cable0 netns bn-gpu02
  ip -n bn-gpu01 addr add 10.77.0.1/24 dev cable0
  ip -n bn-gpu02 addr add 10.77.0.2/24 dev cable0
  mend
}

uncable() {
  if [[ -n ${cable_process:-} ]]; then
    kill "$cable_process" && wait "$cable_process" 2>/dev/null || true
    cable_process=
  fi
  ip -n bn-gpu01 link del cable0 2>/dev/null || true
}

unplug() { ip -n bn-gpu01 link set cable0 down; }
mend() {
  ip -n bn-gpu01 link set cable0 up
  ip -n bn-gpu02 link set cable0 up
}

machines_down() {
  local name
  for name in gpu01 gpu02; do
    ip netns pids "bn-$name" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
  done
  uncable
  for name in gpu01 gpu02; do ip netns del "bn-$name" 2>/dev/null || true; done
}

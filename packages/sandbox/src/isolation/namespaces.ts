import { existsSync, readFileSync } from 'node:fs';

/** A switch of the kernel, or null where it has none of that name. */
function sysctl(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}

const SWITCHES: readonly { name: string; off: string; remedy: string }[] = [
  {
    name: 'kernel.unprivileged_userns_clone',
    off: '0',
    remedy: 'sysctl -w kernel.unprivileged_userns_clone=1',
  },
  { name: 'user.max_user_namespaces', off: '0', remedy: 'sysctl -w user.max_user_namespaces=10000' },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    off: '1',
    remedy:
      'give bwrap an AppArmor profile with "userns,", or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
];

const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];

/** What to do where bubblewrap may not make namespaces; the likeliest cause that can be seen from here. */
export function namespaceRemedy(): string {
  const found = SWITCHES.find(({ name, off }) => sysctl(name) === off);
  if (found !== undefined) return `user namespaces are switched off by ${found.name}; ${found.remedy}`;
  if (CONTAINER_MARKS.some((mark) => existsSync(mark)))
    return 'the container runtime forbids namespaces; allow unshare, clone and mount in its seccomp profile (docs/sandbox.md, "In containers")';
  return 'allow user namespaces to unprivileged users (docs/sandbox.md, "On a host")';
}

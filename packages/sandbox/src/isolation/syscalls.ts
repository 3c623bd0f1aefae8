/** Architectures whose system call numbers are known, by their Node.js names. */
export type Architecture = 'x64' | 'arm64';

/** System call numbers on x64 and on arm64; undefined if the architecture does not have the call. */
export type CallNumbers = readonly [number | undefined, number | undefined];
type CallTable = Readonly<Record<string, CallNumbers>>;

/** Values of `AUDIT_ARCH_…` in the kernel's headers, by architecture. */
export const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** The newest known system call (`mseal`); the number is the same on both architectures. */
export const NEWEST_CALL = 462;

/** Calls that are allowed or refused depending on their arguments. */
export const CONDITIONAL_CALLS = {
  clone: [56, 220],
  clone3: [435, 435],
  mmap: [9, 222],
} as const satisfies CallTable;

/** Calls that start processes. */
export const PROCESS_CALLS: CallTable = {
  fork: [57, undefined],
  vfork: [58, undefined],
};

/** Calls that open connections; descriptors that are already open can still be used. */
export const SOCKET_CALLS: CallTable = {
  socket: [41, 198],
  socketpair: [53, 199],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
};

/** Calls that no program of the sandbox needs. */
export const FORBIDDEN_CALLS: CallTable = {
  // Other processes: inspecting, controlling, or starting one from a descriptor.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  kcmp: [312, 272],
  pidfd_open: [434, 434],
  pidfd_getfd: [438, 438],
  pidfd_send_signal: [424, 424],
  execveat: [322, 281],
  // Namespaces, mounts and devices.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  mknod: [133, undefined],
  mknodat: [259, 33],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  // Memory outside the process's limits, and kernel queues.
  shmget: [29, 194],
  shmat: [30, 196],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  // Kernel features with a history of vulnerabilities.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  vmsplice: [278, 75],
  landlock_create_ruleset: [444, 444],
  landlock_add_rule: [445, 445],
  landlock_restrict_self: [446, 446],
  fanotify_init: [300, 262],
  fanotify_mark: [301, 263],
  personality: [135, 92],
  lookup_dcookie: [212, 18],
  // NUMA memory placement.
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  get_mempolicy: [239, 236],
  set_mempolicy_home_node: [450, 450],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  // The machine: modules, devices, disks, and obsolete calls.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, undefined],
  query_module: [178, undefined],
  get_kernel_syms: [177, undefined],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  vhangup: [153, 58],
  nfsservctl: [180, 42],
  uselib: [134, undefined],
  ustat: [136, undefined],
  sysfs: [139, undefined],
  _sysctl: [156, undefined],
  ioperm: [173, undefined],
  iopl: [172, undefined],
  modify_ldt: [154, undefined],
  // The machine's clock and names.
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
};

/** Returns the number of a call on an architecture, or undefined. */
export function callNumberOf([x64, arm64]: CallNumbers, architecture: Architecture): number | undefined {
  return architecture === 'x64' ? x64 : arm64;
}

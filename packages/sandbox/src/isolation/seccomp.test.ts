import { describe, expect, it } from 'vitest';
import { createSeccompFilter, type FilterOptions } from './seccomp.ts';
import {
  AUDIT_ARCH,
  CONDITIONAL_CALLS,
  FORBIDDEN_CALLS,
  NEWEST_CALL,
  callNumberOf,
  PROCESS_CALLS,
  SOCKET_CALLS,
  type Architecture,
} from './syscalls.ts';

interface Call {
  readonly number: number;
  readonly architecture?: number;
  readonly args?: readonly number[];
}

/** Interprets the filter as the kernel does. Returns its verdict on a call. */
function evaluate(filter: Buffer, { number, architecture, args = [] }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE((architecture ?? AUDIT_ARCH.x64) >>> 0, 4);
  args.forEach((arg, index) => data.writeUInt32LE(arg >>> 0, 16 + 8 * index));
  let accumulator = 0;
  for (let position = 0; position * 8 < filter.length; position++) {
    const code = filter.readUInt16LE(position * 8);
    const [ifTrue, ifFalse] = [filter.readUInt8(position * 8 + 2), filter.readUInt8(position * 8 + 3)];
    const operand = filter.readUInt32LE(position * 8 + 4);
    const jump = (holds: boolean): number => (holds ? ifTrue : ifFalse);
    if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x15) position += jump(accumulator === operand);
    else if (code === 0x25) position += jump(accumulator > operand);
    else if (code === 0x35) position += jump(accumulator >= operand);
    else if (code === 0x45) position += jump((accumulator & operand) !== 0);
    else if (code === 0x06) return VERDICTS[operand] ?? `unknown verdict ${operand}`;
    else return `unknown instruction ${code}`;
  }
  return 'ran off the end';
}

const VERDICTS: Record<number, string> = {
  0x7fff0000: 'allow',
  0x80000000: 'kill',
  0x00050001: 'EPERM',
  0x00050026: 'ENOSYS',
};

const AF_UNIX = 1;

/** Calls that every program makes. */
const NEEDED_CALLS: Record<string, readonly [number, number]> = {
  read: [0, 63],
  write: [1, 64],
  close: [3, 57],
  munmap: [11, 215],
  mprotect: [10, 226],
  futex: [202, 98],
  epoll_pwait: [281, 22],
  recvmsg: [47, 212],
  sendmsg: [46, 211],
  execve: [59, 221],
  exit_group: [231, 94],
  getrandom: [318, 278],
  madvise: [28, 233],
  prlimit64: [302, 261],
  openat: [257, 56],
  eventfd2: [290, 19],
  pipe2: [293, 59],
  rseq: [334, 293],
  mseal: [462, 462],
};

describe.each<Architecture>(['x64', 'arm64'])('the filter for %s', (architecture) => {
  const auditArchitecture = AUDIT_ARCH[architecture];
  const filter = createSeccompFilter({ architecture });
  const verdictOn = (options: Omit<FilterOptions, 'architecture'>, number: number, args?: number[]): string =>
    evaluate(createSeccompFilter({ architecture, ...options }), {
      number,
      architecture: auditArchitecture,
      ...(args && { args }),
    });
  const namedCallsOf = (table: typeof FORBIDDEN_CALLS): [string, number][] =>
    Object.entries(table).flatMap(([name, pair]): [string, number][] => {
      const number = callNumberOf(pair, architecture);
      return number === undefined ? [] : [[name, number]];
    });

  it.each(namedCallsOf(FORBIDDEN_CALLS))('refuses %s, whatever else is allowed', (_name, number) => {
    expect(evaluate(filter, { number, architecture: auditArchitecture })).toBe('EPERM');
    expect(verdictOn({ mayStartProcesses: true, mayOpenSockets: true }, number)).toBe('EPERM');
  });

  it.each(namedCallsOf(SOCKET_CALLS))('refuses %s unless sockets are allowed', (_name, number) => {
    expect(evaluate(filter, { number, architecture: auditArchitecture })).toBe('EPERM');
    expect(verdictOn({ mayStartProcesses: true }, number)).toBe('EPERM');
    expect(verdictOn({ mayOpenSockets: true }, number, [AF_UNIX])).toBe('allow');
  });

  it('allows sockets only of families that namespaces confine', () => {
    const socket = callNumberOf(SOCKET_CALLS['socket']!, architecture) as number;
    const [AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK] = [2, 10, 16, 17, 38, 40];
    for (const family of [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])
      expect(verdictOn({ mayOpenSockets: true }, socket, [family])).toBe('allow');
    for (const family of [AF_PACKET, AF_ALG, AF_VSOCK])
      expect(verdictOn({ mayOpenSockets: true, mayStartProcesses: true }, socket, [family])).toBe('EPERM');
  });

  it('refuses to start processes unless they are allowed', () => {
    for (const [, number] of namedCallsOf(PROCESS_CALLS)) {
      expect(verdictOn({ mayOpenSockets: true }, number)).toBe('EPERM');
      expect(verdictOn({ mayStartProcesses: true }, number)).toBe('allow');
    }
    const clone = callNumberOf(CONDITIONAL_CALLS.clone, architecture) as number;
    const SIGCHLD = 17;
    expect(verdictOn({}, clone, [SIGCHLD])).toBe('EPERM');
    expect(verdictOn({ mayStartProcesses: true }, clone, [SIGCHLD])).toBe('allow');
  });

  it('allows threads, but not with new namespaces', () => {
    const clone = callNumberOf(CONDITIONAL_CALLS.clone, architecture) as number;
    const THREAD_FLAGS = 0x3d0f00;
    expect(verdictOn({}, clone, [THREAD_FLAGS])).toBe('allow');
    for (const bit of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80]) {
      expect(verdictOn({}, clone, [THREAD_FLAGS | bit])).toBe('EPERM');
      expect(verdictOn({ mayStartProcesses: true }, clone, [17 | bit])).toBe('EPERM');
    }
  });

  it('refuses clone3 and unknown calls so that the C library falls back', () => {
    expect(verdictOn({ mayStartProcesses: true, mayOpenSockets: true }, 435)).toBe('ENOSYS');
    expect(verdictOn({}, NEWEST_CALL + 1)).toBe('ENOSYS');
    expect(verdictOn({}, 0x3fffffff)).toBe('ENOSYS');
  });

  it('refuses shared anonymous memory, which no limit counts', () => {
    const mmap = callNumberOf(CONDITIONAL_CALLS.mmap, architecture) as number;
    const mmapArguments = (value: number): number[] => [0, 4096, 3, value];
    expect(verdictOn({}, mmap, mmapArguments(0x21))).toBe('EPERM');
    expect(verdictOn({}, mmap, mmapArguments(0x23))).toBe('EPERM');
    expect(verdictOn({}, mmap, mmapArguments(0x22))).toBe('allow');
    expect(verdictOn({}, mmap, mmapArguments(0x01))).toBe('allow');
    expect(verdictOn({ mayStartProcesses: true }, mmap, mmapArguments(0x21))).toBe('allow');
  });

  it('kills the process for calls of another ABI', () => {
    const otherArchitecture = AUDIT_ARCH[architecture === 'x64' ? 'arm64' : 'x64'];
    const I386 = 0x40000003;
    expect(evaluate(filter, { number: 1, architecture: otherArchitecture })).toBe('kill');
    expect(evaluate(filter, { number: 1, architecture: I386 })).toBe('kill');
    expect(evaluate(filter, { number: 0x40000001, architecture: auditArchitecture })).toBe('kill');
    expect(evaluate(filter, { number: 0xffffffff, architecture: auditArchitecture })).toBe('kill');
  });

  it.each(Object.entries(NEEDED_CALLS))('allows %s', (_name, pair) => {
    expect(
      evaluate(filter, {
        number: callNumberOf(pair, architecture) as number,
        architecture: auditArchitecture,
      }),
    ).toBe('allow');
  });

  it('lists no call twice, and none newer than NEWEST_CALL', () => {
    const calls = [FORBIDDEN_CALLS, SOCKET_CALLS, PROCESS_CALLS, CONDITIONAL_CALLS].flatMap(namedCallsOf);
    const numbers = calls.map(([, number]) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(NEWEST_CALL);
  });
});

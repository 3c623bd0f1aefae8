import { describe, expect, it } from 'vitest';
import { seccompFilter, type FilterOptions } from './seccomp.ts';
import {
  AUDIT_ARCH,
  CONDITIONAL_CALLS,
  FORBIDDEN_CALLS,
  NEWEST_CALL,
  numberOf,
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
  const audit = AUDIT_ARCH[architecture];
  const filter = seccompFilter({ architecture });
  const verdict = (options: Omit<FilterOptions, 'architecture'>, number: number, args?: number[]): string =>
    evaluate(seccompFilter({ architecture, ...options }), {
      number,
      architecture: audit,
      ...(args && { args }),
    });
  const numbersOf = (table: typeof FORBIDDEN_CALLS): [string, number][] =>
    Object.entries(table).flatMap(([name, pair]): [string, number][] => {
      const number = numberOf(pair, architecture);
      return number === undefined ? [] : [[name, number]];
    });

  it.each(numbersOf(FORBIDDEN_CALLS))('refuses %s, whatever else is allowed', (_name, number) => {
    expect(evaluate(filter, { number, architecture: audit })).toBe('EPERM');
    expect(verdict({ processes: true, sockets: true }, number)).toBe('EPERM');
  });

  it.each(numbersOf(SOCKET_CALLS))('refuses %s unless sockets are allowed', (_name, number) => {
    expect(evaluate(filter, { number, architecture: audit })).toBe('EPERM');
    expect(verdict({ processes: true }, number)).toBe('EPERM');
    expect(verdict({ sockets: true }, number, [AF_UNIX])).toBe('allow');
  });

  it('allows sockets only of families that namespaces confine', () => {
    const socket = numberOf(SOCKET_CALLS['socket']!, architecture) as number;
    const [AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK] = [2, 10, 16, 17, 38, 40];
    for (const family of [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])
      expect(verdict({ sockets: true }, socket, [family])).toBe('allow');
    for (const family of [AF_PACKET, AF_ALG, AF_VSOCK])
      expect(verdict({ sockets: true, processes: true }, socket, [family])).toBe('EPERM');
  });

  it('refuses to start processes unless they are allowed', () => {
    for (const [, number] of numbersOf(PROCESS_CALLS)) {
      expect(verdict({ sockets: true }, number)).toBe('EPERM');
      expect(verdict({ processes: true }, number)).toBe('allow');
    }
    const clone = numberOf(CONDITIONAL_CALLS.clone, architecture) as number;
    const SIGCHLD = 17;
    expect(verdict({}, clone, [SIGCHLD])).toBe('EPERM');
    expect(verdict({ processes: true }, clone, [SIGCHLD])).toBe('allow');
  });

  it('allows threads, but not with new namespaces', () => {
    const clone = numberOf(CONDITIONAL_CALLS.clone, architecture) as number;
    const THREAD = 0x3d0f00;
    expect(verdict({}, clone, [THREAD])).toBe('allow');
    for (const bit of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80]) {
      expect(verdict({}, clone, [THREAD | bit])).toBe('EPERM');
      expect(verdict({ processes: true }, clone, [17 | bit])).toBe('EPERM');
    }
  });

  it('refuses clone3 and unknown calls so that the C library falls back', () => {
    expect(verdict({ processes: true, sockets: true }, 435)).toBe('ENOSYS');
    expect(verdict({}, NEWEST_CALL + 1)).toBe('ENOSYS');
    expect(verdict({}, 0x3fffffff)).toBe('ENOSYS');
  });

  it('refuses shared anonymous memory, which no limit counts', () => {
    const mmap = numberOf(CONDITIONAL_CALLS.mmap, architecture) as number;
    const flags = (value: number): number[] => [0, 4096, 3, value];
    expect(verdict({}, mmap, flags(0x21))).toBe('EPERM');
    expect(verdict({}, mmap, flags(0x23))).toBe('EPERM');
    expect(verdict({}, mmap, flags(0x22))).toBe('allow');
    expect(verdict({}, mmap, flags(0x01))).toBe('allow');
    expect(verdict({ processes: true }, mmap, flags(0x21))).toBe('allow');
  });

  it('kills the process for calls of another ABI', () => {
    const other = AUDIT_ARCH[architecture === 'x64' ? 'arm64' : 'x64'];
    const I386 = 0x40000003;
    expect(evaluate(filter, { number: 1, architecture: other })).toBe('kill');
    expect(evaluate(filter, { number: 1, architecture: I386 })).toBe('kill');
    expect(evaluate(filter, { number: 0x40000001, architecture: audit })).toBe('kill');
    expect(evaluate(filter, { number: 0xffffffff, architecture: audit })).toBe('kill');
  });

  it.each(Object.entries(NEEDED_CALLS))('allows %s', (_name, pair) => {
    expect(evaluate(filter, { number: numberOf(pair, architecture) as number, architecture: audit })).toBe(
      'allow',
    );
  });

  it('lists no call twice, and none newer than NEWEST_CALL', () => {
    const calls = [FORBIDDEN_CALLS, SOCKET_CALLS, PROCESS_CALLS, CONDITIONAL_CALLS].flatMap(numbersOf);
    const numbers = calls.map(([, number]) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(NEWEST_CALL);
  });
});

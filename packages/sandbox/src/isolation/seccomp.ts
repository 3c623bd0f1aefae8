import {
  AUDIT_ARCH,
  CONDITIONAL_CALLS,
  FORBIDDEN_CALLS,
  NEWEST_CALL,
  callNumberOf,
  PROCESS_CALLS,
  SOCKET_CALLS,
  type Architecture,
  type CallNumbers,
} from './syscalls.ts';

export interface FilterOptions {
  /** Architecture of the machine. */
  readonly architecture: Architecture;
  /** True if processes may be started; threads are always allowed. Default false. */
  readonly mayStartProcesses?: boolean;
  /**
   * True to allow sockets of common families (local, IPv4, IPv6, netlink), which the network namespace confines.
   * Other families, such as those that reach the host of a virtual machine, are always refused. Default false.
   */
  readonly mayOpenSockets?: boolean;
}

/** A BPF instruction: code, jump offsets if true and if false, operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

const LOAD = 0x20;
const AND = 0x54;
const IF_EQUAL = 0x15;
const IF_GREATER = 0x25;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const returnErrno = (errno: number): number => 0x0005_0000 | errno;
const EPERM = 1;
const ENOSYS = 38;

/**
 * Offsets in the kernel's description of a call: number, architecture, then six arguments of eight bytes, low half
 * first.
 */
const CALL_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const argumentOffset = (index: number): number => 16 + 8 * index;

/** Bit of calls of the x32 ABI, which nothing here uses. */
const X32_BIT = 0x4000_0000;
const CLONE_THREAD = 0x0001_0000;
/** All `CLONE_NEW…` flags: a new namespace would restore what the sandbox removes. */
const CLONE_NEW_FLAGS = 0x7e02_0080;
/** MAP_SHARED | MAP_ANONYMOUS: memory that RLIMIT_DATA does not count. */
const SHARED_ANONYMOUS_FLAGS = 0x21;

/**
 * Returns the rules for `clone`. They refuse calls that create namespaces, or processes if those are not allowed. No
 * later rule applies to this call.
 */
function cloneRules(number: number, mayStartProcesses: boolean): Instruction[] {
  const rules: Instruction[] = [[LOAD, 0, 0, argumentOffset(0)]];
  if (!mayStartProcesses) rules.push([IF_ANY_BIT, 1, 0, CLONE_THREAD], [RETURN, 0, 0, returnErrno(EPERM)]);
  rules.push([IF_ANY_BIT, 0, 1, CLONE_NEW_FLAGS], [RETURN, 0, 0, returnErrno(EPERM)], [RETURN, 0, 0, ALLOW]);
  return [[IF_EQUAL, 0, rules.length, number], ...rules];
}

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const ALLOWED_FAMILIES = [1, 2, 10, 16];

function socketRules(number: number): Instruction[] {
  const familyRules = ALLOWED_FAMILIES.map((family): Instruction => [IF_EQUAL, 0, 1, family]);
  const rules: Instruction[] = [
    [LOAD, 0, 0, argumentOffset(0)],
    ...familyRules.flatMap((rule): Instruction[] => [rule, [RETURN, 0, 0, ALLOW]]),
    [RETURN, 0, 0, returnErrno(EPERM)],
  ];
  return [[IF_EQUAL, 0, rules.length, number], ...rules];
}

function mmapRules(number: number): Instruction[] {
  const rules: Instruction[] = [
    [LOAD, 0, 0, argumentOffset(3)],
    [AND, 0, 0, SHARED_ANONYMOUS_FLAGS],
    [IF_EQUAL, 0, 1, SHARED_ANONYMOUS_FLAGS],
    [RETURN, 0, 0, returnErrno(EPERM)],
    [RETURN, 0, 0, ALLOW],
  ];
  return [[IF_EQUAL, 0, rules.length, number], ...rules];
}

/** Returns the numbers of calls that are always refused. */
function refusedCallNumbers({
  architecture,
  mayStartProcesses = false,
  mayOpenSockets = false,
}: FilterOptions): number[] {
  const tables = [
    FORBIDDEN_CALLS,
    ...(mayStartProcesses ? [] : [PROCESS_CALLS]),
    ...(mayOpenSockets ? [] : [SOCKET_CALLS]),
  ];
  const numbers = tables.flatMap((table) =>
    Object.values(table).map((callNumbers) => callNumberOf(callNumbers, architecture)),
  );
  return numbers.filter((number) => number !== undefined);
}

/**
 * Returns the filter of system calls as classic BPF, 8 bytes per instruction. Calls of another architecture kill the
 * process. Refused calls fail with EPERM. `clone3`, whose flags a filter cannot read, and calls newer than NEWEST_CALL
 * fail with ENOSYS, so that the C library falls back to older ones.
 */
export function createSeccompFilter(options: FilterOptions): Buffer {
  const { architecture, mayStartProcesses = false, mayOpenSockets = false } = options;
  const callNumber = (name: keyof typeof CONDITIONAL_CALLS): number =>
    callNumberOf(CONDITIONAL_CALLS[name], architecture) as number;
  const numbers = refusedCallNumbers(options);
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_OFFSET],
    [IF_EQUAL, 1, 0, AUDIT_ARCH[architecture]],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, CALL_OFFSET],
    [IF_AT_LEAST, 0, 1, X32_BIT],
    [RETURN, 0, 0, KILL_PROCESS],
    [IF_GREATER, 1, 0, NEWEST_CALL],
    [IF_EQUAL, 0, 1, callNumber('clone3')],
    [RETURN, 0, 0, returnErrno(ENOSYS)],
    ...cloneRules(callNumber('clone'), mayStartProcesses),
    // Skipped if processes are allowed, because they may share memory.
    ...(mayStartProcesses ? [] : mmapRules(callNumber('mmap'))),
    ...(mayOpenSockets
      ? socketRules(callNumberOf(SOCKET_CALLS['socket'] as CallNumbers, architecture) as number)
      : []),
    ...numbers.map((number, index): Instruction => [IF_EQUAL, numbers.length - index, 0, number]),
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, returnErrno(EPERM)],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}

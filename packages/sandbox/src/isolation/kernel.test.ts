import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findBubblewrap } from '../../../../test/support/bubblewrap.ts';
import { confine } from './confine.ts';
import { findHostTools } from './host-tools.ts';
import { DEFAULT_UIDS } from './process-uid.ts';
import { spawnConfined } from './spawn.ts';
import {
  CONDITIONAL_CALLS,
  FORBIDDEN_CALLS,
  NEWEST_CALL,
  callNumberOf,
  PROCESS_CALLS,
  SOCKET_CALLS,
  type Architecture,
} from './syscalls.ts';

const architecture = process.arch as Architecture;
const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-kernel-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeUInt32LE(value >>> 0, index * 4));
  return bytes;
};

/** MAP_SHARED | MAP_ANONYMOUS, as the fourth argument of every call; the others are 0. */
const FOURTH_ARGUMENT = 0x21;

/**
 * Machine code that makes each call, pushes the results (16 bytes each) onto its stack, writes them to stderr and
 * exits.
 */
const MACHINE_CODE: Record<Architecture, (numbers: readonly number[]) => Buffer> = {
  x64(numbers) {
    // xor edi,edi; xor esi,esi; xor edx,edx; mov r10d,FOURTH_ARGUMENT; xor r8d,r8d; xor r9d,r9d
    const clear = Buffer.from('31ff31f631d241ba2100000045 31c04531c9'.replace(' ', ''), 'hex');
    const call = (number: number): Buffer =>
      // mov eax,number; syscall; push rax; push rax
      Buffer.concat([clear, Buffer.from([0xb8]), u32(number), Buffer.from('0f055050', 'hex')]);
    // mov eax,1; mov edi,2; mov rsi,rsp; mov edx,length; syscall
    const write = [
      Buffer.from('b801000000bf020000004889e6ba', 'hex'),
      u32(numbers.length * 16),
      Buffer.from('0f05', 'hex'),
    ];
    // mov eax,231; xor edi,edi; syscall
    return Buffer.concat([...numbers.map(call), ...write, Buffer.from('b8e700000031ff0f05', 'hex')]);
  },
  arm64(numbers) {
    const movz = (register: number, value: number): number => 0xd2800000 | (value << 5) | register;
    const SVC = 0xd4000001;
    const call = (number: number): number[] => [
      ...[0, 0, 0, FOURTH_ARGUMENT, 0, 0].map((value, register) => movz(register, value)),
      ...[movz(8, number), SVC],
      // str x0,[sp,#-16]!
      0xf81f0fe0,
    ];
    // mov x1,sp
    const write = [movz(0, 2), 0x910003e1, movz(2, numbers.length * 16), movz(8, 64), SVC];
    return u32(...numbers.flatMap(call), ...write, movz(0, 0), movz(8, 94), SVC);
  },
};

/** A Linux program that consists only of `code`. */
function createExecutable(code: Buffer): Buffer {
  const ENTRY_ADDRESS = 0x400078;
  const header = Buffer.alloc(0x78);
  header.write('7f454c46020101', 'hex');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(architecture === 'x64' ? 62 : 183, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(ENTRY_ADDRESS), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  // One segment, the whole file, readable and executable.
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(5, 68);
  header.writeBigUInt64LE(0x400000n, 80);
  header.writeBigUInt64LE(0x400000n, 88);
  header.writeBigUInt64LE(BigInt(header.length + code.length), 96);
  header.writeBigUInt64LE(BigInt(header.length + code.length), 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([header, code]);
}

/** Returns the kernel's result of each call in strict isolation; errors are negative. */
async function resultsOf(numbers: readonly number[]): Promise<number[]> {
  const file = join(folder, `calls-${numbers.length}`);
  writeFileSync(file, createExecutable(MACHINE_CODE[architecture](numbers)));
  chmodSync(file, 0o755);
  chmodSync(folder, 0o755);
  const uids = process.geteuid?.() === 0 ? DEFAULT_UIDS : undefined;
  const program = { file, args: [], readablePaths: [], flags: [], dataMiB: 64 };
  const confinement = { level: 'strict', tools: findHostTools(bubblewrapPath), uids } as const;
  const child = spawnConfined(confine(confinement, file, program));
  const chunks: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  const bytes = Buffer.concat(chunks);
  expect([code, bytes.length, code === 0 ? '' : bytes.toString()]).toEqual([0, numbers.length * 16, '']);
  return numbers.map((_number, index) => Number(bytes.readBigInt64LE((numbers.length - 1 - index) * 16)));
}

const EPERM = -1;
const ENOSYS = -38;

describe.runIf(bubblewrapPath !== undefined)('the kernel, in strict isolation', () => {
  it('refuses every call that the filter names', async () => {
    const tables = { ...FORBIDDEN_CALLS, ...SOCKET_CALLS, ...PROCESS_CALLS, ...CONDITIONAL_CALLS };
    const namedCalls = Object.entries(tables).flatMap(([name, pair]): [string, number][] => {
      const number = callNumberOf(pair, architecture);
      return number === undefined ? [] : [[name, number]];
    });
    const results = await resultsOf(namedCalls.map(([, number]) => number));
    const expected = namedCalls.map(([name]) => [name, name === 'clone3' ? ENOSYS : EPERM]);
    expect(namedCalls.map(([name], index) => [name, results[index]])).toEqual(expected);
  });

  it('refuses calls newer than the filter, and allows the others', async () => {
    const GETPID = { x64: 39, arm64: 172 }[architecture];
    const [nextCallResult, muchNewerCallResult, getpidResult] = await resultsOf([
      NEWEST_CALL + 1,
      5_000,
      GETPID,
    ]);
    expect([nextCallResult, muchNewerCallResult]).toEqual([ENOSYS, ENOSYS]);
    expect(getpidResult).toBeGreaterThan(0);
  });
});

import type { AttackGroup } from '../attack.ts';

/** A limit that code does not reach before the limit on messages, even on a busy machine. */
const LONG_CPU_LIMIT = { cpuMs: 5_000 };

/** Messages between a job and the host beyond the limits of the job. */
export const floodAttacks: AttackGroup = {
  name: 'Floods',
  language: 'javascript',
  attacks: [
    {
      id: 'R19',
      title: 'console output is truncated, and costs only CPU time of the job',
      code: 'for (;;) console.log("x".repeat(1000))',
      limits: { cpuMs: 200, stdoutChars: 5_000 },
      expected: 'TIMEOUT_CPU',
      stdout: /^x{1000}\n[^]{3900,4100}\[stdout truncated\]$/,
    },
    {
      id: 'R19b',
      title: 'empty lines',
      code: 'for (let i = 0; i < 1e5; i++) console.log(); return 1',
      limits: { logLines: 100 },
      expected: '1',
      stdout: /^\n{100}\[stdout truncated\]$/,
    },
    {
      id: 'R19c',
      title: 'one line that exceeds the limit of all output',
      code: 'console.log("a", "b".repeat(1e7), "c"); return 1',
      limits: { stdoutChars: 1_000 },
      expected: '1',
      stdout: /^a b{998}\n\[stdout truncated\]$/,
    },
    {
      id: 'R21',
      title: 'host calls',
      code: 'const a = []; for (let i = 0; i < 20000; i++) a.push(fetch("http://10.0.0.1/" + i).catch(() => 0)); await Promise.all(a)',
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R21b',
      title: 'host calls that are never answered',
      code: 'for (let i = 0; i < 99; i++) fetch(`http://ok.test:${externalPort}/silent`); await new Promise(() => {})',
      limits: { hostCalls: 20 },
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R22',
      title: 'timers',
      code: 'for (let i = 0; i < 1e5; i++) setTimeout(() => {}, 1e9); return 1',
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R22b',
      title: 'timers that are set and cleared',
      code: 'for (;;) clearTimeout(setTimeout(() => {}, 1))',
      limits: { cpuMs: 1_000 },
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R22c',
      title: 'intervals without a delay',
      code: 'for (let i = 0; i < 500; i++) setInterval(() => {}, 0); await new Promise(() => {})',
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R32',
      title: 'bytes to the host',
      code: 'for (;;) await fetch("http://10.0.0.1/", { method: "POST", body: "x".repeat(3e5) }).catch(() => 0)',
      limits: { ...LONG_CPU_LIMIT, bridgeChars: 2_000_000 },
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R32b',
      title: 'bytes from the host',
      code: 'for (;;) await fetch(`http://ok.test:${externalPort}/headers`).then((r) => r.text(), () => 0)',
      limits: { ...LONG_CPU_LIMIT, bridgeChars: 100_000 },
      expected: ['BRIDGE_LIMIT'],
    },
    {
      id: 'R32c',
      title: 'random bytes',
      code: 'for (;;) crypto.getRandomValues(new Uint8Array(65536))',
      limits: { ...LONG_CPU_LIMIT, bridgeChars: 1_000_000 },
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R32d',
      title: 'digests',
      code: 'for (;;) await crypto.subtle.digest("SHA-256", new Uint8Array(1e5))',
      limits: { ...LONG_CPU_LIMIT, bridgeChars: 1_000_000 },
      expected: 'BRIDGE_LIMIT',
    },
    {
      id: 'R30',
      title: 'a URL that is too long',
      code: 'return await fetch("http://big.test/" + "x".repeat(9000)).catch((e) => e.code)',
      expected: '"EGRESS_DENIED"',
    },
    {
      id: 'R30b',
      title: 'too many and too long headers',
      code: 'const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => ["x-" + i, "1"])); return await Promise.all([many, { a: "x".repeat(1e5) }, { a: "x".repeat(1e6) }].map((headers) => fetch(`http://ok.test:${externalPort}/echo`, { headers }).catch((e) => e.code)))',
      expected: '["EGRESS_DENIED","EGRESS_DENIED","EGRESS_DENIED"]',
    },
    {
      id: 'R33',
      title: 'a result over its limit',
      code: 'return "x".repeat(2000)',
      limits: { resultChars: 1_000 },
      expected: 'RESULT_TOO_LARGE',
    },
    {
      id: 'R34',
      title: 'inputs over their limit',
      code: 'return 1',
      values: { v: 'x'.repeat(999) },
      limits: { inputChars: 500 },
      expected: 'INPUT_TOO_LARGE',
    },
    {
      id: 'R35',
      title: 'code over its limit',
      code: `return 1 // ${'x'.repeat(100)}`,
      limits: { codeChars: 50 },
      expected: 'INPUT_TOO_LARGE',
    },
  ],
};

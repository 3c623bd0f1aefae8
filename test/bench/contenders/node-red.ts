import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commonPeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { importOnly } from './process.ts';

interface Red {
  init(server: unknown, settings: object): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Shared by the nodes of the flow and the benchmark. */
interface Bench {
  start?: (message: object) => void;
  ended?: (message: { n: number }) => void;
}

interface FlowNode {
  id: string;
  z: string;
  type: string;
  wires: string[][];
  limit?: number;
}

const NODES = `module.exports = (RED) => {
  const bench = globalThis.heddleBench;
  const define = (type, begin) => RED.nodes.registerType(type, function (config) {
    RED.nodes.createNode(this, config);
    begin(this, config);
  });
  define('bench-in', (node) => { bench.start = (message) => node.send(message); });
  define('bench-step', (node) => node.on('input', (message, send, done) => { message.n++; send(message); done(); }));
  define('bench-more', (node, { limit }) => node.on('input', (message, send, done) => {
    send(message.n < limit ? [message, null] : [null, message]);
    done();
  }));
  define('bench-join', (node, { limit }) => {
    let count = 0;
    node.on('input', (message, send, done) => { if (++count === limit) { count = 0; send(message); } done(); });
  });
  define('bench-out', (node) => node.on('input', (message, send, done) => { bench.ended(message); done(); }));
};`;

const HTML = ['in', 'step', 'more', 'join', 'out']
  .map(
    (name) =>
      `<script type="text/javascript">RED.nodes.registerType('bench-${name}',{category:'bench'})</script>
<script type="text/html" data-template-name="bench-${name}"></script>`,
  )
  .join('');

async function flow(nodes: FlowNode[], expected: number): Promise<TimedWorkload> {
  const bench: Bench = {};
  Object.assign(globalThis, { heddleBench: bench });
  const userDir = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  writeFileSync(join(userDir, 'bench.js'), NODES);
  writeFileSync(join(userDir, 'bench.html'), HTML);
  const red = commonPeer<Red>('node-red');
  const logging = { console: { level: 'off', metrics: false, audit: false } };
  writeFileSync(
    join(userDir, 'flow.json'),
    JSON.stringify([{ id: 'tab', type: 'tab', label: 'bench' }, ...nodes]),
  );
  red.init(createServer(), {
    userDir,
    nodesDir: [userDir],
    flowFile: 'flow.json',
    credentialSecret: false,
    httpAdminRoot: false,
    httpNodeRoot: false,
    logging,
  });
  await red.start();
  for (let polls = 0; !bench.start; polls++) {
    if (polls > 100) throw new Error('The flow has not started.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    async once() {
      const ended = new Promise<{ n: number }>((resolve) => (bench.ended = resolve));
      bench.start?.({ n: 0 });
      expectResult((await ended).n, expected);
    },
    async close() {
      await red.stop();
      rmSync(userDir, { recursive: true });
    },
  };
}

const node = (id: string, type: string, wires: string[][], limit?: number): FlowNode => ({
  id,
  z: 'tab',
  type: `bench-${type}`,
  wires,
  ...(limit !== undefined && { limit }),
});

const steps = (size: number): string[] => Array.from({ length: size }, (_, i) => `s${i}`);

/** Node-RED passes messages between minimal nodes of this benchmark. It has no runs and records nothing. */
export const contender: Contender = {
  ...importOnly('node-red'),
  chain(size) {
    const names = steps(size);
    const chain = names.map((name, i) => node(name, 'step', [[names[i + 1] ?? 'out']]));
    return flow([node('in', 'in', [['s0']]), ...chain, node('out', 'out', [])], size);
  },
  loop: (size) =>
    flow(
      [
        node('in', 'in', [['step']]),
        node('step', 'step', [['more']]),
        node('more', 'more', [['step'], ['out']], size),
        node('out', 'out', []),
      ],
      size,
    ),
  fan(size) {
    const branches = steps(size).map((name) => node(name, 'step', [['join']]));
    const join = node('join', 'join', [['last']], size);
    const last = node('last', 'step', [['out']]);
    return flow([node('in', 'in', [steps(size)]), ...branches, join, last, node('out', 'out', [])], 2);
  },
};

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requirePeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { createImportWorkloads } from './process.ts';

interface Red {
  init(server: unknown, settings: object): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Functions that the nodes of the flow and the benchmark share. */
interface Bench {
  start?: (message: object) => void;
  onEnd?: (message: { n: number }) => void;
}

interface FlowNode {
  id: string;
  /** The id of the flow's tab. */
  z: string;
  type: string;
  wires: string[][];
  limit?: number;
}

const NODES_MODULE = `module.exports = (RED) => {
  const bench = globalThis.heddleBench;
  const define = (type, init) => RED.nodes.registerType(type, function (config) {
    RED.nodes.createNode(this, config);
    init(this, config);
  });
  define('bench-in', (node) => { bench.start = (message) => node.send(message); });
  define('bench-step', (node) => node.on('input', (message, send, done) => { message.n++; send(message); done(); }));
  define('bench-condition', (node, { limit }) => node.on('input', (message, send, done) => {
    send(message.n < limit ? [message, null] : [null, message]);
    done();
  }));
  define('bench-join', (node, { limit }) => {
    let count = 0;
    node.on('input', (message, send, done) => { if (++count === limit) { count = 0; send(message); } done(); });
  });
  define('bench-out', (node) => node.on('input', (message, send, done) => { bench.onEnd(message); done(); }));
};`;

const NODES_HTML = ['in', 'step', 'condition', 'join', 'out']
  .map(
    (name) =>
      `<script type="text/javascript">RED.nodes.registerType('bench-${name}',{category:'bench'})</script>
<script type="text/html" data-template-name="bench-${name}"></script>`,
  )
  .join('');

async function createFlowWorkload(nodes: FlowNode[], expected: number): Promise<TimedWorkload> {
  const bench: Bench = {};
  Object.assign(globalThis, { heddleBench: bench });
  const userDir = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  writeFileSync(join(userDir, 'bench.js'), NODES_MODULE);
  writeFileSync(join(userDir, 'bench.html'), NODES_HTML);
  const red = requirePeer<Red>('node-red');
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
    async runOnce() {
      const ended = new Promise<{ n: number }>((resolve) => (bench.onEnd = resolve));
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

const stepNames = (size: number): string[] => Array.from({ length: size }, (_, i) => `s${i}`);

/** Node-RED passes messages between minimal nodes written for this benchmark. It has no runs and records nothing. */
export const contender: Contender = {
  ...createImportWorkloads('node-red'),
  chain(size) {
    const names = stepNames(size);
    const chain = names.map((name, i) => node(name, 'step', [[names[i + 1] ?? 'out']]));
    return createFlowWorkload([node('in', 'in', [['s0']]), ...chain, node('out', 'out', [])], size);
  },
  loop: (size) =>
    createFlowWorkload(
      [
        node('in', 'in', [['step']]),
        node('step', 'step', [['condition']]),
        node('condition', 'condition', [['step'], ['out']], size),
        node('out', 'out', []),
      ],
      size,
    ),
  'fan-out'(size) {
    const branches = stepNames(size).map((name) => node(name, 'step', [['join']]));
    const joinNode = node('join', 'join', [['last']], size);
    const lastNode = node('last', 'step', [['out']]);
    return createFlowWorkload(
      [node('in', 'in', [stepNames(size)]), ...branches, joinNode, lastNode, node('out', 'out', [])],
      2,
    );
  },
};

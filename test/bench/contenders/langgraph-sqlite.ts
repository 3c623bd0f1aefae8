import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteContender } from '../agents/langgraph.ts';
import { importPeer } from '../peer.ts';
import { DURABLE_CHAIN_LENGTH } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { addChain, graphWorkload } from './langgraph-graphs.ts';

interface Module {
  SqliteSaver: { fromConnString(file: string): object };
}

async function durableRunsWorkload(concurrency: number): Promise<TimedWorkload> {
  const { SqliteSaver } = await importPeer<Module>('@langchain/langgraph-checkpoint-sqlite');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const checkpointer = SqliteSaver.fromConnString(join(folder, 'graph.db'));
  const workload = await graphWorkload({
    build: (builder) => addChain(builder, DURABLE_CHAIN_LENGTH),
    expected: DURABLE_CHAIN_LENGTH,
    checkpointer,
    concurrency,
  });
  return { ...workload, close: () => rmSync(folder, { recursive: true }) };
}

/** LangGraph with its SQLite saver, which commits in WAL mode without a flush per commit. */
export const contender: Contender = {
  durable: () => durableRunsWorkload(1),
  'durable in flight': durableRunsWorkload,
  ...sqliteContender,
};

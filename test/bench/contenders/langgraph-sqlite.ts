import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteContender } from '../agents/langgraph.ts';
import { importPeer } from '../peer.ts';
import { DURABLE_CHAIN_LENGTH } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { addChain, createGraphWorkload } from './langgraph-graphs.ts';

interface SqliteModule {
  SqliteSaver: { fromConnString(file: string): object };
}

async function createDurableRunsWorkload(concurrency: number): Promise<TimedWorkload> {
  const { SqliteSaver } = await importPeer<SqliteModule>('@langchain/langgraph-checkpoint-sqlite');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const checkpointer = SqliteSaver.fromConnString(join(folder, 'graph.db'));
  const workload = await createGraphWorkload({
    build: (builder) => addChain(builder, DURABLE_CHAIN_LENGTH),
    expected: DURABLE_CHAIN_LENGTH,
    checkpointer,
    concurrency,
  });
  return { ...workload, close: () => rmSync(folder, { recursive: true }) };
}

/** LangGraph with its SQLite saver, which commits in WAL mode without a flush per commit. */
export const contender: Contender = {
  durable: () => createDurableRunsWorkload(1),
  'durable in flight': createDurableRunsWorkload,
  ...sqliteContender,
};

import { inMemoryContender } from '../agents/langgraph.ts';
import { graphs } from './langgraph-graphs.ts';
import { createImportWorkloads } from './process.ts';

/** LangGraph without a checkpointer. */
export const contender = {
  ...createImportWorkloads('@langchain/langgraph'),
  ...graphs,
  ...inMemoryContender,
};

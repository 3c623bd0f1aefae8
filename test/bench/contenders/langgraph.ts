import { inMemoryContender } from '../agents/langgraph.ts';
import { graphs } from './langgraph-graphs.ts';
import { importWorkloads } from './process.ts';

/** LangGraph without a checkpointer. */
export const contender = { ...importWorkloads('@langchain/langgraph'), ...graphs, ...inMemoryContender };

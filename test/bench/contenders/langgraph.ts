import { inMemory } from '../agents/langgraph.ts';
import { graphs } from './langgraph-graphs.ts';
import { importing } from './process.ts';

/** LangGraph without a checkpointer. */
export const contender = { ...importing('@langchain/langgraph'), ...graphs, ...inMemory };

import { inMemory } from '../agents/langgraph.ts';
import { graphs } from './langgraph-graphs.ts';
import { importOnly } from './process.ts';

/** LangGraph without a checkpointer. */
export const contender = { ...importOnly('@langchain/langgraph'), ...graphs, ...inMemory };

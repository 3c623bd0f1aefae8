import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importPeer } from '../peer.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { COUNT_TOOL, QUESTION, openAgentWorkload } from './model.ts';

interface Message {
  content: string;
  getType(): string;
}

interface PrebuiltModule {
  createReactAgent(options: object): {
    invoke(input: object, config: object): Promise<{ messages: Message[] }>;
  };
}

interface OpenAi {
  ChatOpenAICompletions: new (options: object) => object;
}

interface Sqlite {
  SqliteSaver: { fromConnString(file: string): object };
}

let threadCount = 0;

/** Returns a workload of the prebuilt agent, with or without a checkpointer. */
function createAgentWorkload(rounds: number, isDurable: boolean): Promise<TimedWorkload> {
  return openAgentWorkload(rounds, async (baseURL) => {
    const { createReactAgent } = await importPeer<PrebuiltModule>('@langchain/langgraph/prebuilt');
    const { ChatOpenAICompletions } = await importPeer<OpenAi>('@langchain/openai');
    const { tool } = await importPeer<{ tool(run: () => Promise<object>, options: object): object }>(
      '@langchain/core/tools',
    );
    const { name, description, parameters: schema } = COUNT_TOOL;
    const countTool = tool(async () => ({ counted: 1 }), { name, description, schema });
    const llm = new ChatOpenAICompletions({
      ...{ model: 'scripted', apiKey: 'none', streaming: true, maxRetries: 0 },
      configuration: { baseURL },
    });
    // Without this method, LangChain downloads a tokenizer to estimate the usage.
    Object.assign(llm, { getNumTokens: async () => 0 });
    const folder = isDurable ? mkdtempSync(join(tmpdir(), 'heddle-bench-')) : undefined;
    const checkpointer = folder === undefined ? undefined : await openSaver(folder);
    const agent = createReactAgent({ llm, tools: [countTool], checkpointer });
    return {
      async ask() {
        const config = { recursionLimit: 1_000_000, configurable: { thread_id: `t${threadCount++}` } };
        const input = { messages: [{ role: 'user', content: QUESTION }] };
        const { messages } = await agent.invoke(input, config);
        const callCount = messages.filter((message) => message.getType() === 'tool').length;
        return { text: messages.at(-1)?.content ?? '', callCount };
      },
      close() {
        if (folder !== undefined) rmSync(folder, { recursive: true });
      },
    };
  });
}

async function openSaver(folder: string): Promise<object> {
  const { SqliteSaver } = await importPeer<Sqlite>('@langchain/langgraph-checkpoint-sqlite');
  return SqliteSaver.fromConnString(join(folder, 'graph.db'));
}

/** LangGraph without a checkpointer. */
export const inMemoryContender: Contender = { agent: (rounds) => createAgentWorkload(rounds, false) };

/** LangGraph with its SQLite saver, which saves a checkpoint after each step. */
export const sqliteContender: Contender = { 'durable agent': (rounds) => createAgentWorkload(rounds, true) };

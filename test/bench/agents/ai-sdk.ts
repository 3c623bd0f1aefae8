import { importPeer } from '../peer.ts';
import type { Contender } from '../workload.ts';
import { COUNT_TOOL, QUESTION, openAgentWorkload } from './model.ts';

interface AiSdk {
  streamText(options: object): { text: Promise<string>; steps: Promise<{ toolCalls: unknown[] }[]> };
  stepCountIs(count: number): object;
  tool(options: object): object;
  jsonSchema(schema: object): object;
}

interface OpenAiCompatible {
  createOpenAICompatible(options: object): (model: string) => object;
}

/** The agent loop of the AI SDK with streamed model calls, without persistence. */
export const contender: Contender = {
  agent: (rounds) =>
    openAgentWorkload(rounds, async (baseURL) => {
      const { streamText, stepCountIs, tool, jsonSchema } = await importPeer<AiSdk>('ai');
      const { createOpenAICompatible } = await importPeer<OpenAiCompatible>('@ai-sdk/openai-compatible');
      const model = createOpenAICompatible({ name: 'local', baseURL })('scripted');
      const { description, parameters } = COUNT_TOOL;
      const countTool = tool({
        description,
        inputSchema: jsonSchema(parameters),
        execute: async () => ({ counted: 1 }),
      });
      return {
        async ask() {
          const messages = [{ role: 'user', content: QUESTION }];
          const stopWhen = stepCountIs(rounds + 1);
          const { text, steps } = streamText({
            model,
            messages,
            tools: { count: countTool },
            stopWhen,
            maxRetries: 0,
          });
          const callCount = (await steps).reduce((sum, { toolCalls }) => sum + toolCalls.length, 0);
          return { text: await text, callCount };
        },
      };
    }),
};

import * as z from 'zod';
import { modelFields, modelOutputs } from '../models/fields.ts';

const jsonList = z.array(z.json());

/**
 * The fields and outputs of agents, for descriptions. The executor reads the fields itself, because most have several
 * forms.
 */
export const agentSchema = {
  summary: 'Lets a model answer with the help of tools.',
  fields: z.object({
    messages: jsonList
      .optional()
      .describe('The messages: items {"role", "content"}, role system, user or assistant.'),
    systemPrompt: z.string().optional().describe('Instructions, in the older form.'),
    memories: jsonList.optional().describe('Earlier messages, in the older form.'),
    userPrompt: z.json().optional().describe('The message of the user, in the older form.'),
    tools: jsonList
      .optional()
      .describe(
        'Tools that the model may call: items {"type", "params", "usageControl", "requireApproval"}.',
      ),
    maxToolResultChars: z.coerce
      .number()
      .optional()
      .describe(
        'Maximum number of characters of one tool result that the model gets. Default 20000; 1000 to 100000.',
      ),
    skills: jsonList
      .optional()
      .describe(
        'Instructions that the model reads if it needs them: items {"skillId"}, the id or name of a stored skill.',
      ),
    files: z
      .json()
      .optional()
      .describe(
        'Images, PDF and text files for the question: a file or a list of files, such as <start.files>; or a URL.',
      ),
    memoryType: z
      .string()
      .optional()
      .describe(
        'Which earlier exchanges the model gets: none, conversation, sliding_window or sliding_window_tokens.',
      ),
    conversationId: z.string().optional().describe('The id of the conversation, if the agent has a memory.'),
    slidingWindowSize: z.coerce.number().optional().describe('Messages of sliding_window. Default 10.'),
    slidingWindowTokens: z.coerce
      .number()
      .optional()
      .describe('Tokens of sliding_window_tokens. Default 4000.'),
    responseFormat: z
      .json()
      .optional()
      .describe('JSON Schema of the answer, as {"name", "schema"}, or the schema itself.'),
    ...modelFields,
  }),
  outputs: z
    .object({
      content: z
        .json()
        .optional()
        .describe('The answer. With responseFormat, an object whose fields are also outputs.'),
      toolCalls: z
        .object({ list: jsonList, count: z.number() })
        .describe('Tool calls: name, arguments, result, success, approval.'),
      providerTiming: z
        .record(z.string(), z.number())
        .describe('Milliseconds spent in the model and in tools.'),
      ...modelOutputs,
    })
    .catchall(z.json()),
};

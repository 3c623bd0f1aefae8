import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { askModel } from '../agent/agent.ts';
import { createResponseFormat } from '../agent/response-format.ts';
import type { BlockCall, Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { schemaInstruction } from './schema-in-prompt.ts';

/** One question to a model, without tools. */
export interface Question {
  /** Instructions for the model. */
  system: string;
  /** The subject of the instructions: text, or parts of a message. */
  user: string | Extract<LanguageModelV4Prompt[number], { role: 'user' }>['content'];
}

/** The model that answered, its tokens and their cost, for the output of a block. */
export interface ModelUsage {
  model: string;
  tokens: { [name: string]: number };
  cost?: { [name: string]: number };
}

type Call = Pick<BlockCall<unknown>, 'context' | 'options'>;

/** Asks the model of the block. The answer is emitted as it arrives. Throws a BlockError. */
export async function askText(call: Call, question: Question): Promise<{ text: string; usage: ModelUsage }> {
  const output = await askModel(call.context, call.options, { prompt: promptOf(question) });
  return { text: output['content'] as string, usage: usageOf(output) };
}

/**
 * Asks the model of the block for an object with these properties, all of them required. If the answer does not match,
 * the model is asked once more. Nothing is emitted: the answer is for the block, not for readers.
 *
 * Throws a BlockError, with the code AGENT_OUTPUT_INVALID if the second answer does not match either.
 */
export async function askForObject(
  call: Call,
  question: Question,
  properties: JsonObject,
): Promise<{ value: JsonObject; usage: ModelUsage }> {
  const answerSchema = {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  // The answer has its own property, so that none of its properties overwrites the model, the tokens or the cost.
  const schema = {
    type: 'object',
    properties: { answer: answerSchema },
    required: ['answer'],
    additionalProperties: false,
  } satisfies JsonObject;
  const format = createResponseFormat('answer', schema, (problem) =>
    invalidConfigError(call.context, `has an answer whose schema ${problem}`),
  );
  // Some servers ignore the response format, so the instructions contain the schema too.
  const system = `${question.system}\n${schemaInstruction(schema)}`;
  const prompt = promptOf({ ...question, system });
  const output = await askModel(withoutEvents(call.context), call.options, { prompt, format });
  const value: Json = output['answer'] ?? null;
  return { value: isJsonObject(value) ? value : {}, usage: usageOf(output) };
}

function promptOf({ system, user }: Question): LanguageModelV4Prompt {
  const content = typeof user === 'string' ? [{ type: 'text' as const, text: user }] : user;
  return [
    { role: 'system', content: system },
    { role: 'user', content },
  ];
}

function usageOf({ model, tokens, cost }: JsonObject): ModelUsage {
  return { model, tokens, ...(cost !== undefined && { cost }) } as unknown as ModelUsage;
}

/** Returns the context with an `emit` that does nothing. */
function withoutEvents(context: Context): Context {
  return new Proxy(context, {
    get: (target, name) => (name === 'emit' ? () => undefined : (Reflect.get(target, name) as unknown)),
  });
}

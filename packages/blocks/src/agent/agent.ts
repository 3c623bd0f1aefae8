import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { BlockError, InvariantError, isJsonObject } from '@heddle/core/blocks';
import type { BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { attachmentsOf } from '../models/attachments.ts';
import { textOf } from '../models/call.ts';
import type { ModelResponse } from '../models/call.ts';
import { FallbackModels } from '../models/fallback.ts';
import { resolveModels } from '../models/resolve.ts';
import type { ResolvedModels } from '../models/resolve.ts';
import { addCosts, addTokens, costOf, costOutput, NO_TOKENS } from '../models/usage.ts';
import type { Cost } from '../models/usage.ts';
import type { BlocksOptions } from '../options.ts';
import { Approvals } from './approvals.ts';
import { memoryOf } from './memory.ts';
import { promptOf } from './prompt.ts';
import { isEmpty } from './tool-configs.ts';
import { responseFormatOptions, parseFormattedAnswer, responseFormatOf } from './response-format.ts';
import type { ResponseFormat } from './response-format.ts';
import { parseInput, ToolCalls } from './tool-calls.ts';
import { skillsOf } from './skills.ts';
import { toolChoice, toolsOf } from './tools.ts';
import type { CallableTool } from './callable-tool.ts';

/** Maximum number of rounds, each a model call and its tool calls. After that the block fails. */
const MAX_ROUNDS = 25;

/**
 * Runs an agent: a model that calls tools until it has an answer. Each model call and each tool call is a step of the
 * block.
 *
 * Throws a BlockError.
 */
export async function runAgent(context: Context, options: BlocksOptions): Promise<BlockResult> {
  const models = await resolveModels(context, options);
  const format = responseFormatOf(context);
  const skills = await skillsOf(context);
  const tools = await toolsOf(context, { options, skills });
  const memory = await memoryOf(context, models[0], skills.addTo(promptOf(context)));
  const prompt = await withFiles(memory.prompt, context);
  const approvals = await Approvals.load(context);
  const result = await new Agent({ context, models, format, tools, approvals }).run(prompt);
  if ('pause' in result) return { pause: result.pause, continues: true };
  await memory.add(result.text);
  return { output: result.output };
}

/**
 * Asks the model of the block one question, without tools, and returns the same output as an agent. The model and its
 * settings are in the fields of the block.
 *
 * Throws a BlockError.
 */
export async function askModel(
  context: Context,
  options: BlocksOptions,
  { prompt, format }: { prompt: LanguageModelV4Prompt; format?: ResponseFormat },
): Promise<JsonObject> {
  const models = await resolveModels(context, options);
  const result = await new Agent({ context, models, format, tools: new Map() }).run(prompt);
  if ('pause' in result) throw new InvariantError('A block without tools waits for the approval of a call.');
  return result.output;
}

/** Returns the prompt with the block's files added to the last user message. Conversations do not store these files. */
async function withFiles(prompt: LanguageModelV4Prompt, context: Context): Promise<LanguageModelV4Prompt> {
  const files = context.field('files', 'json') ?? null;
  if (isEmpty(files)) return prompt;
  const parts = await attachmentsOf(files, { context, kind: 'file' });
  const lastUserIndex = prompt.findLastIndex(({ role }) => role === 'user');
  const message = prompt[lastUserIndex];
  if (message?.role !== 'user') return [...prompt, { role: 'user', content: parts }];
  return prompt.with(lastUserIndex, { ...message, content: [...message.content, ...parts] });
}

interface AgentDependencies {
  context: Context;
  models: ResolvedModels;
  format: ResponseFormat | undefined;
  tools: ReadonlyMap<string, CallableTool>;
  /** Absent: no tool call needs approval. */
  approvals?: Approvals;
}

/** The output of a pause, with the calls that wait for a person. */
interface PauseResult {
  pause: JsonObject;
}

/** One execution of an agent. */
class Agent {
  readonly #dependencies: AgentDependencies;
  readonly #models: FallbackModels;
  readonly #calls: ToolCalls;
  #tokens = NO_TOKENS;
  #cost: Cost | undefined;
  readonly #timing = { modelMs: 0, toolMs: 0 };

  constructor(dependencies: AgentDependencies) {
    this.#dependencies = dependencies;
    this.#models = new FallbackModels(dependencies.context, dependencies.models);
    this.#calls = new ToolCalls(dependencies.context, dependencies);
  }

  /** Returns the output of the block and the text of the answer, or the pause in which calls wait for a person. */
  async run(prompt: LanguageModelV4Prompt): Promise<{ output: JsonObject; text: string } | PauseResult> {
    const messages = [...prompt];
    const response = await this.#converse(messages);
    if ('pause' in response) return response;
    const { format } = this.#dependencies;
    const text = textOf(response);
    if (!format) return { output: { content: text, ...this.#metadata() }, text };
    const formattedAnswer = await this.#parseOrRepair(format, messages, text);
    return {
      output: { ...fieldsOf(formattedAnswer.value), ...this.#metadata() },
      text: formattedAnswer.text,
    };
  }

  /**
   * Calls the model, and the tools of its responses, until a response calls none. Returns that response, or the pause.
   * Adds earlier responses and the results of their calls to `messages`.
   */
  async #converse(messages: LanguageModelV4Message[]): Promise<ModelResponse | PauseResult> {
    const { tools, context } = this.#dependencies;
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const response = await this.#ask(`model ${round}`, messages, {
        ...(tools.size > 0 && {
          tools: this.#calls.callableTools().map(({ definition }) => definition),
          toolChoice: toolChoice(tools, round),
        }),
      });
      const calls = response.content.filter((part) => part.type === 'tool-call');
      if (calls.length === 0) return response;
      if (textOf(response) !== '') context.emit({ type: 'reset' });
      const outcome = await this.#measure('toolMs', () => this.#calls.call(round, calls));
      if ('pause' in outcome) return outcome;
      messages.push(
        { role: 'assistant', content: assistantContent(response) },
        { role: 'tool', content: outcome.results },
      );
    }
    throw new BlockError(
      'AGENT_ROUNDS_EXCEEDED',
      `The agent "${context.block.name}" has no answer after ${MAX_ROUNDS} rounds of tools.`,
      { retryable: false },
    );
  }

  async #ask(
    stepName: string,
    prompt: LanguageModelV4Prompt,
    extraOptions: Partial<LanguageModelV4CallOptions> = {},
  ): Promise<ModelResponse> {
    const { context, format } = this.#dependencies;
    const callOptions = { ...responseFormatOptions(format), ...extraOptions, prompt: [...prompt] };
    const { response, resolvedModel } = await this.#measure('modelMs', () =>
      this.#models.ask(stepName, callOptions),
    );
    this.#tokens = addTokens(this.#tokens, response.tokens);
    if (resolvedModel.prices)
      this.#cost = addCosts(this.#cost, costOf(response.tokens, resolvedModel.prices));
    if (response.finishReason === 'content-filter')
      throw new BlockError(
        'MODEL_REFUSED',
        `The provider's filter stopped the answer of "${context.block.name}".`,
        {
          retryable: false,
        },
      );
    return response;
  }

  /**
   * Returns the JSON of an answer in the format, and the answer's text. If the answer does not match, the model
   * corrects it once.
   */
  async #parseOrRepair(
    format: ResponseFormat,
    messages: LanguageModelV4Prompt,
    text: string,
  ): Promise<{ value: Json; text: string }> {
    const firstResult = parseFormattedAnswer(text, format);
    if ('value' in firstResult) return { value: firstResult.value, text };
    const repairRequest = `The answer does not match the JSON Schema: ${firstResult.problems}. Answer again, with JSON that matches it and nothing else.`;
    this.#dependencies.context.emit({ type: 'reset' });
    const repairedResponse = await this.#ask('repair', [
      ...messages,
      ...(text === '' ? [] : [{ role: 'assistant' as const, content: [{ type: 'text' as const, text }] }]),
      { role: 'user', content: [{ type: 'text', text: repairRequest }] },
    ]);
    const secondResult = parseFormattedAnswer(textOf(repairedResponse), format);
    if ('value' in secondResult) return { value: secondResult.value, text: textOf(repairedResponse) };
    throw new BlockError(
      'AGENT_OUTPUT_INVALID',
      `The model's answer for "${this.#dependencies.context.block.name}" does not match the response format, even after one repair: ${secondResult.problems}`,
      { details: { answer: textOf(repairedResponse).slice(0, 2000) } },
    );
  }

  #metadata(): JsonObject {
    return {
      ...this.#models.outputFields(),
      tokens: { ...this.#tokens },
      toolCalls: this.#calls.output(),
      providerTiming: { ...this.#timing },
      ...(this.#cost && { cost: costOutput(this.#cost) }),
    };
  }

  async #measure<T>(timer: 'modelMs' | 'toolMs', work: () => Promise<T>): Promise<T> {
    const { clock } = this.#dependencies.context;
    const startedMs = clock.now();
    try {
      return await work();
    } finally {
      this.#timing[timer] += clock.now() - startedMs;
    }
  }
}

type AssistantPart = Exclude<
  Extract<LanguageModelV4Message, { role: 'assistant' }>['content'],
  string
>[number];

/** Returns the parts of a response that the model gets back in the next round. */
function assistantContent({ content }: ModelResponse): AssistantPart[] {
  return content.flatMap((part): AssistantPart[] => {
    if (part.type !== 'text' && part.type !== 'reasoning' && part.type !== 'tool-call') return [];
    const { providerMetadata: providerOptions } = part;
    const options = providerOptions ? { providerOptions } : {};
    if (part.type !== 'tool-call') return [{ type: part.type, text: part.text, ...options }];
    const { type, toolCallId, toolName, input } = part;
    return [{ type, toolCallId, toolName, input: parseInput(input) ?? {}, ...options }];
  });
}

/**
 * Returns the fields of the answer, and the whole answer under `content`: exported workflows read both `<agent.field>`
 * and `<agent.content.field>`.
 */
function fieldsOf(value: Json): JsonObject {
  return isJsonObject(value) ? { content: value, ...value } : { content: value };
}

import type { Json, JsonObject } from '@heddle/core/blocks';
import { compileSchema } from './json-schema.ts';
import type { CallableTool } from './callable-tool.ts';

/**
 * Default maximum number of characters of a tool's result for the model: 25 such results fit into most context windows.
 */
export const DEFAULT_RESULT_CHARS = 20_000;
/** The bounds of `maxToolResultChars`. */
export const MIN_RESULT_CHARS = 1000;
export const MAX_RESULT_CHARS = 100_000;

const TOOL_NAME = 'read_result';
/** Characters reserved for the line that says which part of a result follows. */
const NOTE_CHARS = 100;

/**
 * The results of one agent's tools that are too long for its model. The model gets the beginning and the end of such a
 * result, and a tool that reads the rest. The results are kept only in memory: a later attempt
 * gets them again from the recorded steps of the calls.
 */
export class LongResults {
  readonly #maxChars: number;
  readonly #toolName: string;
  /** The results, as text, by the ids of their calls. */
  readonly #texts = new Map<string, string>();
  #tool: CallableTool | undefined;

  /** `tools`: the agent's tools by name. */
  constructor(maxChars: number, tools: ReadonlyMap<string, unknown>) {
    this.#maxChars = maxChars;
    let name = TOOL_NAME;
    for (let number = 2; tools.has(name); number++) name = `${TOOL_NAME}_${number}`;
    this.#toolName = name;
  }

  /** Returns the text that the model gets for the result of a call. */
  textForModel(id: string, text: string): string {
    if (text.length <= this.#maxChars) return text;
    this.#texts.set(id, text);
    const halfLength = Math.floor(this.#maxChars / 2);
    const note = `[${text.length - 2 * halfLength} of ${text.length} characters omitted. Read them with ${this.#toolName}: {"id": "${id}", "offset": ${halfLength}}]`;
    return `${sliceWellFormed(text, 0, halfLength)}\n${note}\n${sliceWellFormed(text, text.length - halfLength, text.length)}`;
  }

  /** Returns the tool that reads results; undefined until a result is too long. */
  tool(): CallableTool | undefined {
    if (this.#texts.size > 0) this.#tool ??= this.#createTool();
    return this.#tool;
  }

  #createTool(): CallableTool {
    const maxLength = this.#maxChars - NOTE_CHARS;
    const parameters: JsonObject = {
      type: 'object',
      properties: {
        id: { type: 'string', maxLength: 20, description: 'The id of the call' },
        offset: { type: 'integer', minimum: 0, description: 'The first character to read' },
        length: { type: 'integer', minimum: 1, maximum: maxLength, description: `Default: ${maxLength}` },
      },
      required: ['id', 'offset'],
      additionalProperties: false,
    };
    return {
      definition: {
        type: 'function',
        name: this.#toolName,
        description: 'Reads a part of a result of a tool that was too long to be shown as a whole.',
        inputSchema: parameters as never,
      },
      isIdempotent: () => true,
      requiresApproval: false,
      forced: false,
      problemsOf: compileSchema(parameters, (problem) => new Error(`The schema of ${TOOL_NAME} ${problem}.`)),
      run: async ({ id = '', offset, length = maxLength }) => this.#read(id, Number(offset), Number(length)),
    };
  }

  #read(id: Json, offset: number, length: number): string {
    const text = typeof id === 'string' ? this.#texts.get(id) : undefined;
    if (text === undefined)
      throw new Error(`No result has this id. Use one of: ${[...this.#texts.keys()].join(', ')}.`);
    if (offset >= text.length) throw new Error(`The result has only ${text.length} characters.`);
    const end = Math.min(text.length, offset + length);
    return `[characters ${offset} to ${end} of ${text.length}]\n${sliceWellFormed(text, offset, end)}`;
  }
}

/** Returns a part of a text. Replaces lone surrogates at its ends, because providers refuse them. */
function sliceWellFormed(text: string, start: number, end: number): string {
  return text.slice(start, end).toWellFormed();
}

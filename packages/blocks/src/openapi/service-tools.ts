import { EngineError, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import MiniSearch from 'minisearch';
import { compileSchema, withCheckedPatterns } from '../agent/json-schema.ts';
import type { SchemaCheck } from '../agent/json-schema.ts';
import { definitionsOf, readToolFile } from './file.ts';
import type { CodeTool, ServiceTool, ToolFile } from './file.ts';
import { MAX_SCHEMA_CHARS } from './import.ts';
import { matchesPattern } from './names.ts';
import { bundleSchema } from './schemas.ts';

/** A tool that is ready to be called, with the services of its file. */
export interface LoadedTool {
  tool: ServiceTool;
  services: ToolFile['services'];
  /** The complete schema of the arguments. */
  schema: JsonObject;
  problemsOf: SchemaCheck;
}

/** Criteria for the tools of a service that may be used. */
export interface Selection {
  /** Ids of tools, with `*` for any text. Undefined: all. */
  operations: readonly string[] | undefined;
  tags: readonly string[] | undefined;
  /** True: only tools that change nothing. */
  readOnly: boolean;
}

const MAX_QUERY_CHARS = 300;

/** A tool in its file. `loadedTool` is set at its first use. */
interface FileTool {
  tool: ServiceTool;
  file: ToolFile;
  loadedTool?: LoadedTool;
}

/** The tools of several files, by id and by service. */
export class ServiceTools {
  readonly #byId = new Map<string, FileTool>();
  readonly #indexes = new Map<string, MiniSearch>();
  readonly #codeTools = new Map<string, CodeTool>();
  /**
   * The tools by the name of their service. If a service has several servers, the tools of `NAME:HOST` are also under
   * `NAME`.
   */
  readonly #byService = new Map<string, ServiceTool[]>();

  /** Throws OPTIONS_INVALID. */
  constructor(files: readonly unknown[]) {
    for (const [index, value] of files.entries()) {
      const file = readToolFile(value, `number ${index + 1} in toolFiles`);
      for (const tool of file.tools) {
        this.#assertUnused(tool.id);
        this.#byId.set(tool.id, { tool, file });
        const [mainName = tool.service] = tool.service.split(':');
        for (const name of new Set([mainName, tool.service])) this.#toolsOf(name).push(tool);
      }
      for (const tool of file.code ?? []) {
        this.#assertUnused(tool.id);
        this.#codeTools.set(tool.id, tool);
      }
    }
  }

  #assertUnused(id: string): void {
    if (this.#byId.has(id) || this.#codeTools.has(id))
      throw new EngineError('OPTIONS_INVALID', `Two tool files have a tool "${id}".`);
  }

  /** Returns the code tool with this id. */
  codeTool(id: string): CodeTool | undefined {
    return this.#codeTools.get(id);
  }

  /** Returns the tool with this id. Throws OPTIONS_INVALID if its schema cannot be used. */
  get(id: string): LoadedTool | undefined {
    const fileTool = this.#byId.get(id);
    return fileTool && (fileTool.loadedTool ??= loadTool(fileTool));
  }

  /** Returns whether a file has tools of this service. */
  hasService(name: string): boolean {
    return this.#byService.has(name);
  }

  /** Returns the tools of a service that may be used. */
  select(service: string, selection: Selection): ServiceTool[] {
    return this.#toolsOf(service).filter((tool) => isSelected(tool, selection));
  }

  /** Returns the tools of a service that may be used and match a query, the best match first. */
  search(service: string, query: string, selection: Selection): ServiceTool[] {
    const results = this.#indexOf(service).search(query.slice(0, MAX_QUERY_CHARS));
    return results.flatMap(({ id }) => {
      const tool = this.#byId.get(id as string)?.tool;
      return tool && isSelected(tool, selection) ? [tool] : [];
    });
  }

  #toolsOf(service: string): ServiceTool[] {
    const tools = this.#byService.get(service) ?? [];
    this.#byService.set(service, tools);
    return tools;
  }

  #indexOf(service: string): MiniSearch {
    const existingIndex = this.#indexes.get(service);
    if (existingIndex) return existingIndex;
    const index = new MiniSearch({
      fields: ['id', 'title', 'text', 'tags'],
      tokenize: wordsOf,
      processTerm: stemOf,
      searchOptions: { prefix: true, boost: { id: 2, title: 3 }, combineWith: 'OR' },
    });
    index.addAll(
      this.#toolsOf(service).map(({ id, description, tags = [], method, path }) => {
        const [title = '', ...others] = description.split('\n');
        return { id, title, text: `${others.join(' ')} ${method} ${path}`, tags: tags.join(' ') };
      }),
    );
    this.#indexes.set(service, index);
    return index;
  }
}

/** Returns the words of a text: the words of `listUserRepos` are list, User and Repos. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

const STOP_WORDS: ReadonlySet<string> = new Set([
  'a',
  'an',
  'and',
  'for',
  'in',
  'of',
  'on',
  'or',
  'the',
  'to',
  'with',
]);

/** Returns the stem of a word, the same for singular and plural; undefined for a stop word. */
function stemOf(word: string): string | undefined {
  const lowerCaseWord = word.toLowerCase();
  if (STOP_WORDS.has(lowerCaseWord)) return undefined;
  if (lowerCaseWord.length > 4 && lowerCaseWord.endsWith('ies')) return `${lowerCaseWord.slice(0, -3)}y`;
  return lowerCaseWord.length > 3 && lowerCaseWord.endsWith('s') && !lowerCaseWord.endsWith('ss')
    ? lowerCaseWord.slice(0, -1)
    : lowerCaseWord;
}

function isSelected({ id, tags = [], readOnly }: ServiceTool, selection: Selection): boolean {
  if (selection.readOnly && !readOnly) return false;
  if (selection.tags && !tags.some((tag) => selection.tags?.includes(tag))) return false;
  return selection.operations?.some((pattern) => matchesPattern(pattern, id)) ?? true;
}

function loadTool({ tool, file }: FileTool): LoadedTool {
  const schemaError = (problem: string): EngineError =>
    new EngineError('OPTIONS_INVALID', `The tool "${tool.id}" has arguments whose schema ${problem}.`);
  const bundle = bundleSchema(tool.arguments as JsonObject, definitionsOf(file), MAX_SCHEMA_CHARS);
  if (!bundle) throw schemaError(`is larger than ${MAX_SCHEMA_CHARS} characters`);
  const schema = withCheckedPatterns(bundle.schema);
  return { tool, services: file.services, schema, problemsOf: compileSchema(schema, schemaError) };
}

/** Returns a schema of arguments without the arguments with these names. */
export function withoutArguments(schema: JsonObject, names: ReadonlySet<string>): JsonObject {
  const properties = (getOwn(schema, 'properties') ?? {}) as JsonObject;
  const required = getOwn(schema, 'required');
  const remainingRequired = Array.isArray(required)
    ? required.filter((name) => !names.has(name as string))
    : [];
  const { required: _, ...others } = schema;
  return {
    ...others,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name))),
    ...(remainingRequired.length > 0 && { required: remainingRequired }),
  };
}

import type {
  BlockConfig,
  ExpressionTemplate,
  Json,
  JsonObject,
  Lookup,
  Template,
  VariableConfig,
} from '../../packages/core/src/blocks.ts';
import { compileCode, compileExpression } from '../../packages/core/src/refs/code.ts';
import { buildNames } from '../../packages/core/src/refs/names.ts';
import type { TemplateContext } from '../../packages/core/src/refs/read-tag.ts';
import { compileTemplate } from '../../packages/core/src/refs/text.ts';
import { createBlockContext } from '../../packages/engine/src/executors/context.ts';
import type { EngineContext, ExecutorServices } from '../../packages/engine/src/executors/services.ts';
import { TestClock } from './test-clock.ts';

/** A block of a test, with the data that it can read. */
export interface BlockFixture {
  type?: string;
  name?: string;
  trigger?: boolean;
  /** Fields as authored. */
  params?: JsonObject;
  code?: string;
  language?: 'javascript' | 'python' | 'shell';
  /** Condition rows: id, title, expression; the title `else` makes a row without an expression. */
  rows?: [id: string, title: string, value: string][];
  /** Outputs of other blocks, by name, in the order of the sources. The id of a block is its name in lower case. */
  outputs?: { [name: string]: JsonObject };
  /** Blocks that exist and have not run. */
  notRun?: string[];
  env?: { [name: string]: string };
  variables?: VariableConfig[];
  services?: Partial<Omit<ExecutorServices, 'run'>>;
  depth?: number;
  callChain?: readonly string[];
  /** True if the workflow is deployed with `compat`. */
  compat?: boolean;
  clock?: TestClock;
  signal?: AbortSignal;
  deadlineMs?: number;
}

const idOf = (name: string): string => name.toLowerCase().replaceAll(' ', '');

const missingService = (what: string) => (): never => {
  throw new Error(`This test has no ${what}.`);
};

/** Returns the context in which references of the scene's block are compiled. */
export function readerOf(scene: BlockFixture): TemplateContext {
  const others = [...Object.keys(scene.outputs ?? {}), ...(scene.notRun ?? [])];
  const blocks = others.map((name) => ({ id: idOf(name), name, type: 'function', enabled: true }));
  const self = { id: 'self', name: scene.name ?? 'Self', type: scene.type ?? 'function', enabled: true };
  return {
    names: buildNames([...blocks, self], scene.variables ?? []),
    reader: 'self',
    fieldPosition: 'inside',
  };
}

/** Returns the scene's block as the compiler outputs it. */
export function blockOf(scene: BlockFixture): BlockConfig {
  const reader = readerOf(scene);
  const block: BlockConfig = {
    id: 'self',
    type: scene.type ?? 'function',
    name: scene.name ?? 'Self',
    trigger: scene.trigger ?? false,
    containers: [],
    params: Object.fromEntries(
      Object.entries(scene.params ?? {}).map(([name, value]) => [
        name,
        compileTemplate(value, reader).template,
      ]),
    ),
    sources: Object.keys(scene.outputs ?? {}).map((name) => idOf(name)),
  };
  if (scene.code !== undefined)
    block.code = compileCode(scene.code, scene.language ?? 'javascript', reader).code;
  if (scene.rows !== undefined) {
    block.conditions = scene.rows.map(([id, title, value]) => {
      const otherwise = title.trim().toLowerCase() === 'else';
      return {
        id,
        title,
        otherwise,
        ...(otherwise ? {} : { expression: compileExpression(value, reader, 'condition').expression }),
      };
    });
  }
  return block;
}

/** Compiles an expression of a container in the scene. */
export function loopExpression(text: string, scene: BlockFixture = {}): ExpressionTemplate {
  return compileExpression(text, { ...readerOf(scene), fieldPosition: 'container' }, 'loop').expression;
}

/** Compiles a field of a container in the scene. */
export function fieldTemplate(value: Json, scene: BlockFixture = {}): Template {
  return compileTemplate(value, readerOf(scene)).template;
}

/** Returns the lookup of values for the scene's block. */
export function lookupOf(scene: BlockFixture): Lookup {
  const outputs = new Map<string, Json>(
    Object.entries(scene.outputs ?? {}).map(([name, output]) => [idOf(name), output]),
  );
  const names = new Map(
    [...Object.keys(scene.outputs ?? {}), ...(scene.notRun ?? [])].map((name) => [idOf(name), name]),
  );
  return {
    block: (ref) => {
      const output = outputs.get(ref.block);
      return output === undefined ? { ran: false } : { ran: true, output };
    },
    container: () => undefined,
    results: () => undefined,
    variable: (id) => scene.variables?.find((variable) => variable.id === id)?.value,
    env: (name) => (Object.hasOwn(scene.env ?? {}, name) ? scene.env?.[name] : undefined),
    describe: (id) => ({ name: names.get(id) ?? id, type: 'function' }),
  };
}

/** Returns the context of the scene's block. Using a service that the scene does not have fails the test. */
export function contextOf(scene: BlockFixture): EngineContext {
  const signal = scene.signal ?? new AbortController().signal;
  return createBlockContext({
    runId: 'run-1',
    workflowId: 'workflow-1',
    block: blockOf(scene),
    scope: [2, 0],
    try: 1,
    signal,
    clock: scene.clock ?? new TestClock(),
    step: missingService('step'),
    ...(scene.deadlineMs === undefined ? {} : { deadlineMs: scene.deadlineMs }),
    services: {
      sandbox: missingService('sandbox'),
      egress: missingService('egress'),
      service: missingService('service'),
      credential: missingService('credentials'),
      file: missingService('files'),
      storeFile: missingService('files'),
      openFile: missingService('files'),
      skills: { find: missingService('skills'), read: missingService('skills') },
      tenantFiles: undefined,
      tenantKnowledge: undefined,
      runs: missingService('log'),
      conversation: missingService('conversations'),
      conversationIds: missingService('conversations'),
      spending: { reserve: missingService('spending') },
      rates: {
        take: missingService('rates'),
        correct: missingService('rates'),
        block: missingService('rates'),
      },
      connection: missingService('connections'),
      withoutSlot: (wait) => wait(),
      lookup: lookupOf(scene),
      run: {
        variables: scene.variables ?? [],
        env: scene.env ?? {},
        compat: scene.compat ?? false,
        depth: scene.depth ?? 0,
        callChain: scene.callChain ?? [],
      },
      target: () => undefined,
      ports: () => [],
      findChild: missingService('children'),
      child: missingService('children'),
      callWorkflow: missingService('children'),
      ...scene.services,
    },
  });
}

/** Returns the error of `work`. */
export async function failureOf(
  work: () => unknown,
): Promise<{ code: string; message: string; retryable?: boolean; retryAfterMs?: number; details?: Json }> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error as Error & { code: string };
    throw error;
  }
  throw new Error('nothing failed');
}

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

/** A block of a test, with the data that the block can read. */
export interface BlockFixture {
  type?: string;
  name?: string;
  trigger?: boolean;
  /** Fields as authored. */
  params?: JsonObject;
  code?: string;
  language?: 'javascript' | 'python' | 'shell';
  /** Conditions: id, title, expression; the title `else` makes a condition without an expression. */
  conditions?: [id: string, title: string, value: string][];
  /** Outputs of other blocks, by name, in the order of the sources. The id of a block is its name in lower case. */
  outputs?: { [name: string]: JsonObject };
  /** Blocks that exist and have not run. */
  unexecutedBlocks?: string[];
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

const missingService = (service: string) => (): never => {
  throw new Error(`This test has no ${service}.`);
};

/** Returns the context in which the references of the block are compiled. */
export function templateContextOf(fixture: BlockFixture): TemplateContext {
  const otherNames = [...Object.keys(fixture.outputs ?? {}), ...(fixture.unexecutedBlocks ?? [])];
  const blocks = otherNames.map((name) => ({ id: idOf(name), name, type: 'function', enabled: true }));
  const self = { id: 'self', name: fixture.name ?? 'Self', type: fixture.type ?? 'function', enabled: true };
  return {
    names: buildNames([...blocks, self], fixture.variables ?? []),
    blockId: 'self',
    fieldPosition: 'ordinary',
  };
}

/** Returns the block as the compiler outputs it. */
export function blockOf(fixture: BlockFixture): BlockConfig {
  const context = templateContextOf(fixture);
  const block: BlockConfig = {
    id: 'self',
    type: fixture.type ?? 'function',
    name: fixture.name ?? 'Self',
    trigger: fixture.trigger ?? false,
    containers: [],
    params: Object.fromEntries(
      Object.entries(fixture.params ?? {}).map(([name, value]) => [
        name,
        compileTemplate(value, context).template,
      ]),
    ),
    sources: Object.keys(fixture.outputs ?? {}).map((name) => idOf(name)),
  };
  if (fixture.code !== undefined)
    block.code = compileCode(fixture.code, fixture.language ?? 'javascript', context).code;
  if (fixture.conditions !== undefined) {
    block.conditions = fixture.conditions.map(([id, title, value]) => {
      const otherwise = title.trim().toLowerCase() === 'else';
      return {
        id,
        title,
        otherwise,
        ...(otherwise ? {} : { expression: compileExpression(value, context, 'condition').expression }),
      };
    });
  }
  return block;
}

/** Compiles an expression of a container. */
export function compileLoopExpression(text: string, fixture: BlockFixture = {}): ExpressionTemplate {
  const context: TemplateContext = { ...templateContextOf(fixture), fieldPosition: 'container' };
  return compileExpression(text, context, 'loop').expression;
}

/** Compiles a field of a container. */
export function compileField(value: Json, fixture: BlockFixture = {}): Template {
  return compileTemplate(value, templateContextOf(fixture)).template;
}

/** Returns the lookup of values for the block. */
export function lookupOf(fixture: BlockFixture): Lookup {
  const outputs = new Map<string, Json>(
    Object.entries(fixture.outputs ?? {}).map(([name, output]) => [idOf(name), output]),
  );
  const names = new Map(
    [...Object.keys(fixture.outputs ?? {}), ...(fixture.unexecutedBlocks ?? [])].map((name) => [
      idOf(name),
      name,
    ]),
  );
  return {
    block: (ref) => {
      const output = outputs.get(ref.block);
      return output === undefined ? { ran: false } : { ran: true, output };
    },
    container: () => undefined,
    results: () => undefined,
    variable: (id) => fixture.variables?.find((variable) => variable.id === id)?.value,
    env: (name) => (Object.hasOwn(fixture.env ?? {}, name) ? fixture.env?.[name] : undefined),
    describe: (id) => ({ name: names.get(id) ?? id, type: 'function' }),
  };
}

/** Returns the context of the block. Using a service that the fixture does not have fails the test. */
export function contextOf(fixture: BlockFixture): EngineContext {
  const signal = fixture.signal ?? new AbortController().signal;
  return createBlockContext({
    runId: 'run-1',
    workflowId: 'workflow-1',
    block: blockOf(fixture),
    scope: [2, 0],
    try: 1,
    signal,
    clock: fixture.clock ?? new TestClock(),
    step: missingService('step'),
    ...(fixture.deadlineMs === undefined ? {} : { deadlineMs: fixture.deadlineMs }),
    services: {
      sandbox: missingService('sandbox'),
      httpClient: missingService('egress'),
      service: missingService('service'),
      credential: missingService('credentials'),
      readFile: missingService('files'),
      storeFile: missingService('files'),
      openFile: missingService('files'),
      skills: { find: missingService('skills'), read: missingService('skills') },
      tenantFiles: undefined,
      tenantKnowledge: undefined,
      runs: missingService('log'),
      conversation: missingService('conversations'),
      conversationIds: missingService('conversations'),
      spending: { reserve: missingService('spending') },
      rateLimiter: {
        take: missingService('the rate limiter'),
        correctTokens: missingService('the rate limiter'),
        pauseKey: missingService('the rate limiter'),
      },
      connection: missingService('connections'),
      withoutSlot: (wait) => wait(),
      lookup: lookupOf(fixture),
      run: {
        variables: fixture.variables ?? [],
        env: fixture.env ?? {},
        compat: fixture.compat ?? false,
        depth: fixture.depth ?? 0,
        callChain: fixture.callChain ?? [],
      },
      target: () => undefined,
      ports: () => [],
      findChild: missingService('children'),
      runChild: missingService('children'),
      callWorkflow: missingService('children'),
      ...fixture.services,
    },
  });
}

/** Returns the error that `work` throws. Throws if `work` succeeds, or if the error has no code. */
export async function failureOf(
  work: () => unknown,
): Promise<{ code: string; message: string; retryable?: boolean; retryAfterMs?: number; details?: Json }> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error as Error & { code: string };
    throw error;
  }
  throw new Error('The work did not fail.');
}

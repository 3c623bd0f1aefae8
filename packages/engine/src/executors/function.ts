import { BlockError, bindCode, envNamesIn, fieldSchemas, referencesIn } from '@heddle/core/blocks';
import type { BlockConfig, BlockResult, CodeTemplate, Json } from '@heddle/core/blocks';
import { authoredValue, parseIfJson, parseJson } from '@heddle/core/fields';
import type { JobLimits } from '@heddle/sandbox';
import { codeFailure } from './code-failure.ts';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asRows, asText } from './values.ts';

const DEFAULT_TIMEOUT_MS = 300_000;
/** Maximum time limit that the sandbox accepts. */
const MAX_TIME_LIMIT_MS = 3_600_000;

/**
 * Margin by which the sandbox's time limit exceeds the remaining time of the block or run, so that the error message
 * does not depend on which timer fires first.
 */
const DEADLINE_MARGIN_MS = 1000;

/** Runs a function block's JavaScript, Python or bash script: output `{result, stdout}`. */
export const functionExecutor: EngineExecutor = {
  types: ['function'],
  class: 'compute',
  execute: (context) => runFunction(context),
};

async function runFunction(context: EngineContext): Promise<BlockResult> {
  const code = codeOf(context);
  const boundCode = bindCode(code, context.services.lookup);
  const sandbox = await context.services.sandbox();
  const outcome = await sandbox.run({
    runId: context.runId,
    language: code.language,
    ...imageOf(context),
    code: boundCode.code,
    values: boundCode.values,
    globals: globalsOf(context, code),
    limits: limitsOf(context),
    signal: context.signal,
  });
  if (!outcome.ok) throw codeFailure(outcome.error, code.authored, outcome.stdout);
  return { output: { result: parseJson(outcome.json) ?? null, stdout: outcome.stdout } };
}

/** Returns the dependency image of the block. The sandbox checks the image when opening it. */
function imageOf(context: EngineContext): { image?: string } {
  const id = asText(context.field('sandboxId') ?? '').trim();
  return id === '' ? {} : { image: id };
}

function codeOf({ block }: EngineContext): CodeTemplate {
  const { code } = block;
  if (code === undefined || code.authored.trim() === '')
    throw new BlockError('BLOCK_CONFIG_INVALID', 'The function block has no code.', { retryable: false });
  return code;
}

/**
 * Returns the globals that the code mentions. Other globals would cost time and expose secrets unnecessarily. Shell
 * scripts always get the environment values, because the programs that they call may read them.
 */
function globalsOf(context: EngineContext, code: CodeTemplate): Record<string, string> {
  const globals: Record<string, string> = { params: '{}' };
  if (readsEnvironment(code)) globals['environmentVariables'] = JSON.stringify(mountedEnv(context));
  if (/\binput\b/.test(code.authored)) globals['input'] = JSON.stringify(context.sourceOutput());
  return globals;
}

function readsEnvironment(code: CodeTemplate): boolean {
  return code.language === 'shell' || /\benvironmentVariables\b/.test(code.authored);
}

/**
 * Returns the names of the environment values that the code of the block gets. Returns `all` if it gets every value, or
 * if the names are known only at run time.
 */
export function mountedNames({ code, params }: BlockConfig): ReadonlySet<string> | 'all' {
  if (!code || !readsEnvironment(code)) return new Set();
  const { secretScope, mountedSecrets } = params;
  const isStatic = [secretScope, mountedSecrets].every(
    (template) => !template || (referencesIn(template).length === 0 && envNamesIn(template).length === 0),
  );
  if (!isStatic || authoredValue(secretScope) !== 'selected') return 'all';
  return namesOf(parseIfJson(authoredValue(mountedSecrets) ?? null)) ?? 'all';
}

/**
 * Returns all environment values, or those that the block selects. Throws BLOCK_CONFIG_INVALID for an invalid scope.
 */
function mountedEnv(context: EngineContext): { readonly [name: string]: string } {
  const { env } = context.services.run;
  const scope = fieldSchemas.secretScope.safeParse(asText(context.field('secretScope')) || 'all').data;
  if (scope === 'all') return env;
  const names = scope === 'selected' ? namesOf(context.field('mountedSecrets')) : undefined;
  if (names === undefined) {
    throw new BlockError(
      'BLOCK_CONFIG_INVALID',
      'The environment values of the function block are invalid: secretScope must be "all" or "selected", and mountedSecrets a list of names.',
      { retryable: false },
    );
  }
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.has(name)));
}

function namesOf(value: Json | undefined): ReadonlySet<string> | undefined {
  const list = value ?? [];
  if (!Array.isArray(list)) return undefined;
  const rows = asRows(list) ?? [];
  return new Set([
    ...list.filter((name) => typeof name === 'string'),
    ...rows.map((row) => asText(row['name'])),
  ]);
}

/**
 * Returns the time limits of the code, up to the engine's limits. A timeout of the block also sets the CPU time
 * limit. Without a timeout, the sandbox's default CPU time limit applies.
 */
function limitsOf(context: EngineContext): Partial<JobLimits> {
  const engineLimits = context.services.run.codeLimits ?? {};
  const timeout = Number(context.field('timeout') ?? Number.NaN);
  const configuredMs = Number.isFinite(timeout) && timeout > 0 ? timeout : undefined;
  const wallMs = atLeastOne(
    Math.min(
      configuredMs ?? DEFAULT_TIMEOUT_MS,
      (context.remainingMs ?? MAX_TIME_LIMIT_MS) + DEADLINE_MARGIN_MS,
      engineLimits.wallMs ?? MAX_TIME_LIMIT_MS,
      MAX_TIME_LIMIT_MS,
    ),
  );
  return configuredMs === undefined
    ? { wallMs }
    : { wallMs, cpuMs: atLeastOne(Math.min(wallMs, engineLimits.cpuMs ?? MAX_TIME_LIMIT_MS)) };
}

function atLeastOne(ms: number): number {
  return Math.max(1, Math.ceil(ms));
}

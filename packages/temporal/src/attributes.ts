import { EngineError } from '@heddle/core';
import proto from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import { connect, DEFAULT_NAMESPACE, reasonOf } from './connection.ts';
import { SEARCH_ATTRIBUTES } from './labels.ts';
import type { ServerOptions } from './options.ts';

const NAMES: readonly string[] = Object.values(SEARCH_ATTRIBUTES);
const { INDEXED_VALUE_TYPE_KEYWORD: KEYWORD } = proto.temporal.api.enums.v1.IndexedValueType;

/** Servers make search attributes behind the call that asks for them. */
const PATIENCE = { tries: 50, everyMs: 200 };

/**
 * The names that were missing on the namespace and are registered now; none when all were there. Processes that are
 * opened from then on give them to their runs.
 *
 * Throws RUNTIME_UNREACHABLE, also where the server lets nobody register them this way.
 */
export async function registerSearchAttributes(options: ServerOptions = {}): Promise<string[]> {
  const connection = await connect(options);
  const { namespace = DEFAULT_NAMESPACE } = options;
  try {
    const missing = await missingOn(connection, namespace);
    if (missing.length > 0) await register(connection, namespace, missing);
    return missing;
  } catch (error) {
    throw new EngineError(
      'RUNTIME_UNREACHABLE',
      `The search attributes ${NAMES.join(', ')} cannot be registered on the namespace "${namespace}": ${reasonOf(error)}. On Temporal Cloud, and where rights are missing, register them there as keywords.`,
      { cause: error },
    );
  } finally {
    await connection.close();
  }
}

/** True where runs on the namespace can carry them; also false where nobody may look. */
export async function areRegistered(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    return (await missingOn(connection, namespace)).length === 0;
  } catch {
    // Temporal Cloud tells its lists elsewhere: there the option says it.
    return false;
  }
}

async function missingOn(connection: NativeConnection, namespace: string): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return NAMES.filter((name) => customAttributes?.[name] !== KEYWORD);
}

async function register(connection: NativeConnection, namespace: string, names: string[]): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, KEYWORD]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  for (let left = PATIENCE.tries; (await missingOn(connection, namespace)).length > 0; left--) {
    if (left === 0) throw new Error('the server has taken them, and does not show them');
    await new Promise((resolve) => setTimeout(resolve, PATIENCE.everyMs));
  }
}

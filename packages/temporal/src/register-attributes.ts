import { EngineError } from '@heddle/core';
import proto from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import { connect, DEFAULT_NAMESPACE, reasonOf } from './connection.ts';
import type { ServerOptions } from './options.ts';
import { SEARCH_ATTRIBUTES } from './search-attributes.ts';

const ATTRIBUTE_NAMES: readonly string[] = Object.values(SEARCH_ATTRIBUTES);
const { INDEXED_VALUE_TYPE_KEYWORD: KEYWORD } = proto.temporal.api.enums.v1.IndexedValueType;

/** Servers register search attributes asynchronously, so their list is polled until it contains them. */
const POLL_OPTIONS = { attempts: 50, intervalMs: 200 };

/**
 * Registers the search attributes of runs on a namespace. Returns the names that were missing. Processes that start
 * afterwards set the attributes on their runs.
 *
 * Throws RUNTIME_UNREACHABLE if the server cannot be reached or does not allow the registration.
 */
export async function registerSearchAttributes(options: ServerOptions = {}): Promise<string[]> {
  const connection = await connect(options);
  const { namespace = DEFAULT_NAMESPACE } = options;
  try {
    const missingNames = await findMissingAttributes(connection, namespace);
    if (missingNames.length > 0) await registerAttributes(connection, namespace, missingNames);
    return missingNames;
  } catch (error) {
    throw new EngineError(
      'RUNTIME_UNREACHABLE',
      `Cannot register the search attributes ${ATTRIBUTE_NAMES.join(', ')} on the namespace "${namespace}": ${reasonOf(error)}. On Temporal Cloud, or without the permission, register them as keywords with the server's own tools.`,
      { cause: error },
    );
  } finally {
    await connection.close();
  }
}

/** True if the search attributes are registered on the namespace; false if the server does not allow the request. */
export async function hasSearchAttributes(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    return (await findMissingAttributes(connection, namespace)).length === 0;
  } catch {
    // Temporal Cloud lists them through another API. There, the option `searchAttributes` determines their use.
    return false;
  }
}

async function findMissingAttributes(connection: NativeConnection, namespace: string): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return ATTRIBUTE_NAMES.filter((name) => customAttributes?.[name] !== KEYWORD);
}

async function registerAttributes(
  connection: NativeConnection,
  namespace: string,
  names: string[],
): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, KEYWORD]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  for (let attempts = 1; (await findMissingAttributes(connection, namespace)).length > 0; attempts++) {
    if (attempts > POLL_OPTIONS.attempts)
      throw new Error('the server accepted them and still does not list them');
    await new Promise((resolve) => setTimeout(resolve, POLL_OPTIONS.intervalMs));
  }
}

import type Sqlite from 'node:sqlite';

/** Returns Node's built-in SQLite, which is loaded at the first call. */
export function loadSqlite(): typeof Sqlite {
  return withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'));
}

/**
 * Calls `load` (synchronous) and returns its result, without the experimental warning that early releases of Node 24
 * emit when they load SQLite. All other warnings are emitted.
 */
export function withoutSqliteWarning<T>(load: () => T): T {
  const emit = process.emitWarning.bind(process);
  const originalDescriptor = Object.getOwnPropertyDescriptor(process, 'emitWarning');
  process.emitWarning = (warning: string | Error, ...args: unknown[]): void => {
    if (args[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    Reflect.apply(emit, process, [warning, ...args]);
  };
  try {
    return load();
  } finally {
    if (originalDescriptor) Object.defineProperty(process, 'emitWarning', originalDescriptor);
  }
}

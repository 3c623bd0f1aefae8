import type Sqlite from 'node:sqlite';

/** Node's built-in SQLite, loaded when first asked for. */
export function loadSqlite(): typeof Sqlite {
  return withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'));
}

/**
 * What `load` returns, without the warning that early releases of Node 24 print when they load SQLite.
 *
 * Only this one warning is dropped, and only while `load` (synchronous) runs; every other one goes its way.
 */
export function withoutSqliteWarning<T>(load: () => T): T {
  const emit = process.emitWarning.bind(process);
  const before = Object.getOwnPropertyDescriptor(process, 'emitWarning');
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    Reflect.apply(emit, process, [warning, ...rest]);
  };
  try {
    return load();
  } finally {
    if (before) Object.defineProperty(process, 'emitWarning', before);
  }
}

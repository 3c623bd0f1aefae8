/** Reads runs in processes that do not execute them. */
export { openFolderClient, openPostgresReader } from './run-reader.ts';
export type { ControlReply, RunReader, ObservedRun, FolderClient } from './run-reader.ts';
export type { LogDetail } from '../types.ts';

/** A data folder seen from beside the process that runs it. */
export { openFolderClient, openPostgresReader } from './external-reader.ts';
export type { ControlReply, RunReader, ShownRun, FolderClient } from './external-reader.ts';
export type { LogDetail } from '../types.ts';

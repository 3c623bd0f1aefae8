/** A data folder seen from beside the process that runs it. */
export { openFolderClient, openPostgresReader } from './external-reader.ts';
export type { ControlReply, RunReader, ShownLog, ShownRun, FolderClient } from './external-reader.ts';

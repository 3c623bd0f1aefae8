import './node-version.ts';

// API for file records in values
export { sanitizeFileName, MAX_FILE_BYTES, toMediaType } from './file-record.ts';
export { fileToRead, filesIn, withContents } from './file-record.ts';
export type { FileRecord } from './file-record.ts';
